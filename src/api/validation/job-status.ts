/**
 * Validation of a job's status, which controllers other than ours may write. Unchanged values are not checked again: a job may be
 * scaled down below the counts of its status. Upstream: apis/batch/validation ValidateJobStatusUpdate, registry/batch/job.
 */
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type { Job, JobStatus } from '../gen/batch-v1.ts';
import { FIELD_IMMUTABLE_TEXT } from '../meta-validation.ts';
import { validateNonnegative } from './common.ts';
import { countIndexes, sharedIndex } from './job-indexes.ts';

/** A job with its status and the states of its conditions. */
interface View {
  readonly job: Job;
  readonly status: JobStatus;
  readonly complete: boolean;
  readonly failed: boolean;
  readonly failing: boolean;
  readonly succeeding: boolean;
}

function hasCondition(job: Job, type: string, status = 'True'): boolean {
  return (job.status?.conditions ?? []).some((condition) => condition.type === type && condition.status === status);
}

function viewOf(job: Job): View {
  return {
    job,
    status: job.status ?? {},
    complete: hasCondition(job, 'Complete'),
    failed: hasCondition(job, 'Failed'),
    failing: hasCondition(job, 'FailureTarget'),
    succeeding: hasCondition(job, 'SuccessCriteriaMet'),
  };
}

/** The changes between two views, by name. */
type Changed = (
  ...names: readonly (keyof JobStatus | 'complete' | 'failed' | 'failing' | 'succeeding' | 'finished')[]
) => boolean;

function changesOf(now: View, old: View): Changed {
  const shown = (view: View): Readonly<Record<string, unknown>> => ({
    ...view.status,
    ...view,
    active: view.status.active ?? 0,
    completedIndexes: view.status.completedIndexes ?? '',
    finished: view.complete || view.failed,
  });
  const [left, right] = [shown(now), shown(old)];
  return (...names) => names.some((name) => !deepEqual(left[name], right[name]));
}

function validateUncounted({ uncountedTerminatedPods: pods }: JobStatus, field: Field): void {
  const seen = new Set<string>();
  for (const name of ['succeeded', 'failed'] as const)
    for (const [index, uid] of (pods?.[name] ?? []).entries()) {
      const place = field.at(name).item(index);
      if (uid === '') place.invalid(uid, 'must not be empty');
      else if (seen.has(uid)) place.duplicate(uid);
      seen.add(uid);
    }
}

function validateCompletion({ status, complete, failed, failing }: View, changed: Changed, field: Field): void {
  const conditions = field.at('conditions');
  if (complete && failed && changed('complete', 'failed'))
    conditions.invalidWhole('cannot set Complete=True and Failed=true conditions');
  if (complete && failing && changed('complete', 'failing'))
    conditions.invalidWhole('cannot set Complete=True and FailureTarget=true conditions');
  const { completionTime: end, startTime: start } = status;
  const place = field.at('completionTime');
  const isNew = changed('complete', 'completionTime');
  if (isNew && end !== undefined && !complete)
    place.invalid(end, 'cannot set completionTime when there is no Complete=True condition');
  if (isNew && end === undefined && complete) place.required('completionTime is required for Complete jobs');
  if (changed('startTime', 'completionTime') && start !== undefined && end !== undefined && end < start)
    place.invalid(end, 'must be equal to or after `startTime`');
}

function validateFinished(
  { job, status, complete, failed, failing, succeeding }: View,
  changed: Changed,
  field: Field,
): void {
  const conditions = field.at('conditions');
  if (failed && !failing && changed('failed', 'failedIndexes'))
    conditions.invalidWhole('cannot set Failed=True condition without the FailureTarget=true condition');
  if (complete && !succeeding && changed('complete', 'succeeding'))
    conditions.invalidWhole('cannot set Complete=True condition without the SuccessCriteriaMet=true condition');
  if (!complete && !failed) return;
  const { active = 0, startTime, uncountedTerminatedPods: uncounted } = status;
  if (active > 0 && changed('finished', 'active'))
    field.at('active').invalid(active, 'active>0 is invalid for finished job');
  const isEmpty = job.spec?.suspend === true && job.spec.completions === 0;
  if (startTime === undefined && changed('finished', 'startTime') && !isEmpty)
    field.at('startTime').required('startTime is required for finished job');
  const left = (uncounted?.failed ?? []).length + (uncounted?.succeeded ?? []).length;
  if (left > 0 && changed('finished', 'uncountedTerminatedPods'))
    field.at('uncountedTerminatedPods').invalid(uncounted, 'must be empty for finished job');
}

function validateIndexes({ job, status }: View, changed: Changed, field: Field): void {
  const { completions, backoffLimitPerIndex, completionMode } = job.spec ?? {};
  const { completedIndexes: completed = '', failedIndexes: failed } = status;
  const problemOf = (text: string): string | number =>
    completions === undefined ? 0 : countIndexes(text, completions);
  const check = (name: 'completedIndexes' | 'failedIndexes', text: string): void => {
    const problem = problemOf(text);
    if (typeof problem === 'string') field.at(name).invalid(text, `error parsing ${name}: ${problem}`);
  };
  const [isCompletedNew, isFailedNew] = [changed('completedIndexes'), changed('failedIndexes')];
  if (isCompletedNew) check('completedIndexes', completed);
  if (isFailedNew && backoffLimitPerIndex !== undefined && failed !== undefined) check('failedIndexes', failed);
  if (isCompletedNew && completed !== '' && completionMode !== 'Indexed')
    field
      .at('completedIndexes')
      .invalid(completed, 'cannot set non-empty completedIndexes when non-indexed completion mode');
  if (failed === undefined) return;
  if (isFailedNew && backoffLimitPerIndex === undefined)
    field.at('failedIndexes').invalid(failed, 'cannot set non-null failedIndexes when backoffLimitPerIndex is null');
  if (completions === undefined || (!isFailedNew && !isCompletedNew)) return;
  const shared = sharedIndex(completed, failed, completions);
  if (shared !== undefined)
    field.at('failedIndexes').invalid(failed, `failedIndexes and completedIndexes overlap at index: ${shared}`);
}

function validateReported(
  { job, status, complete, failed, failing, succeeding }: View,
  changed: Changed,
  field: Field,
): void {
  const { terminating = 0, ready, active = 0 } = status;
  if (terminating > 0 && (complete || failed) && changed('finished', 'terminating'))
    field.at('terminating').invalid(terminating, 'terminating>0 is invalid for finished job');
  if (ready !== undefined && ready > active && changed('ready', 'active'))
    field.at('ready').invalid(ready, 'cannot set more ready pods than active');
  const conditions = field.at('conditions');
  if (succeeding && failed) conditions.invalidWhole('cannot set SuccessCriteriaMet=True and Failed=true conditions');
  if (succeeding && failing)
    conditions.invalidWhole('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions');
  if (job.spec?.successPolicy !== undefined && !succeeding && complete)
    conditions.invalidWhole('cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True');
}

function validateVerdicts(now: View, old: View, field: Field): void {
  for (const type of ['Failed', 'Complete', 'FailureTarget'])
    if (hasCondition(old.job, type) && !hasCondition(now.job, type))
      field.at('conditions').invalidWhole(`cannot disable the terminal ${type}=True condition`);
}

function validateCounters(now: View, old: View, field: Field): void {
  const { completionMode, completions, parallelism } = now.job.spec ?? {};
  // An elastic indexed job, which may be scaled down.
  const isElastic = completionMode === 'Indexed' && completions === parallelism;
  for (const name of ['failed', 'succeeded'] as const) {
    const count = now.status[name] ?? 0;
    if (count < (old.status[name] ?? 0) && !(name === 'succeeded' && isElastic))
      field.at(name).invalid(count, `cannot decrease the ${name} counter`);
  }
}

function validateTransition(now: View, old: View, field: Field): void {
  validateVerdicts(now, old, field);
  validateCounters(now, old, field);
  const [end, endBefore] = [now.status.completionTime, old.status.completionTime];
  if (end !== undefined && endBefore !== undefined && end !== endBefore)
    field.at('completionTime').invalid(end, FIELD_IMMUTABLE_TEXT);
  const [start, startBefore] = [now.status.startTime, old.status.startTime];
  const isResuming = hasCondition(old.job, 'Suspended') && hasCondition(now.job, 'Suspended', 'False');
  if (startBefore !== undefined && start !== startBefore && now.job.spec?.suspend !== true && !isResuming)
    field.at('startTime').invalid(start ?? null, 'field is immutable for unsuspended job once set');
  const conditions = field.at('conditions');
  if (old.succeeding && !now.succeeding)
    conditions.invalidWhole('cannot disable the SuccessCriteriaMet=True condition');
  if (old.complete && !old.succeeding && now.succeeding)
    conditions.invalidWhole('cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions');
}

export function validateJobStatus(job: Job, old: Job, field: Field): void {
  const [now, before] = [viewOf(job), viewOf(old)];
  const place = field.at('status');
  const changed = changesOf(now, before);
  for (const name of ['active', 'succeeded', 'failed', 'ready', 'terminating'] as const)
    validateNonnegative(now.status[name], place.at(name));
  validateUncounted(now.status, place.at('uncountedTerminatedPods'));
  validateCompletion(now, changed, place);
  validateFinished(now, changed, place);
  validateIndexes(now, changed, place);
  validateReported(now, changed, place);
  validateTransition(now, before, place);
}
