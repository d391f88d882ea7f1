/** Whether a job has finished, and why. Pure. Upstream: the condition part of syncJob. */
import { secondsToMs } from '../../api/int64.ts';
import { formatTime, parseTime } from '../../api/time.ts';
import type { Job, JobCondition } from '../../api/gen/batch-v1.ts';
import { matchFailurePolicy, matchSuccessPolicy } from './policies.ts';
import { isFailed, type JobView } from './view.ts';

/** Reasons of a failure, which its event has too. */
export type FailureReason =
  | 'BackoffLimitExceeded'
  | 'DeadlineExceeded'
  | 'FailedIndexes'
  | 'MaxFailedIndexesExceeded'
  | 'PodFailurePolicy';

type VerdictReason = FailureReason | 'CompletionsReached' | 'SuccessPolicy';

/** Why a job finishes. The type is the interim condition, which is set while its pods still terminate. */
export interface Verdict {
  readonly type: 'FailureTarget' | 'SuccessCriteriaMet';
  readonly reason: VerdictReason;
  readonly message: string;
}

const failure = (reason: FailureReason, message: string): Verdict => ({ type: 'FailureTarget', reason, message });

/** The condition of a type, when it is true. */
function trueCondition(job: Job, type: string): JobCondition | undefined {
  return job.status?.conditions?.find((condition) => condition.type === type && condition.status === 'True');
}

/** Evaluates failures and success policies; an earlier interim condition is kept. */
export function evaluateJob(view: JobView): Verdict | undefined {
  for (const type of ['SuccessCriteriaMet', 'FailureTarget'] as const) {
    const standing = trueCondition(view.job, type);
    // An earlier sync has written the condition: its reason is a verdict's.
    if (standing !== undefined)
      return { type, reason: standing.reason as VerdictReason, message: standing.message ?? '' };
  }
  return evaluateFailure(view) ?? evaluateIndexes(view) ?? evaluateSuccessPolicy(view);
}

function evaluateFailure(view: JobView): Verdict | undefined {
  const { spec } = view;
  for (const pod of spec.podFailurePolicy === undefined ? [] : view.pods) {
    const match = isFailed(view.job, pod) ? matchFailurePolicy(spec, pod) : undefined;
    if (match?.message !== undefined) return failure('PodFailurePolicy', match.message);
  }
  if (view.failed > (spec.backoffLimit ?? 6) || restartsExceedLimit(view))
    return failure('BackoffLimitExceeded', 'Job has reached the specified backoff limit');
  if (deadlineMs(view) === 0) return failure('DeadlineExceeded', 'Job was active longer than specified deadline');
  return undefined;
}

/** Containers that are restarted in place count as retries too. */
function restartsExceedLimit({ spec, active }: JobView): boolean {
  if (spec.template.spec?.restartPolicy !== 'OnFailure') return false;
  let restarts = 0;
  for (const { status } of active) {
    if (status?.phase !== 'Running' && status?.phase !== 'Pending') continue;
    for (const container of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])])
      restarts += container.restartCount;
  }
  const limit = spec.backoffLimit ?? 6;
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

/** Milliseconds until the job's deadline; 0 when it is past, undefined when there is none. */
export function deadlineMs({ job, spec, nowMs }: JobView): number | undefined {
  const startedMs = parseTime(job.status?.startTime);
  if (spec.activeDeadlineSeconds === undefined || spec.suspend === true || Number.isNaN(startedMs)) return undefined;
  // The job was resumed: its start time is about to be set.
  if (trueCondition(job, 'Suspended') !== undefined) return undefined;
  return Math.max(0, startedMs + secondsToMs(spec.activeDeadlineSeconds) - nowMs);
}

function evaluateIndexes({ spec, failedIndexes, succeededIndexes }: JobView): Verdict | undefined {
  if (spec.backoffLimitPerIndex === undefined || failedIndexes.size === 0) return undefined;
  if (spec.maxFailedIndexes !== undefined && failedIndexes.size > spec.maxFailedIndexes)
    return failure('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes');
  if (failedIndexes.size + succeededIndexes.size >= (spec.completions ?? 0))
    return failure('FailedIndexes', 'Job has failed indexes');
  return undefined;
}

function evaluateSuccessPolicy({ spec, succeededIndexes }: JobView): Verdict | undefined {
  const message = matchSuccessPolicy(spec, succeededIndexes);
  return message === undefined ? undefined : { type: 'SuccessCriteriaMet', reason: 'SuccessPolicy', message };
}

/** Complete when enough pods have succeeded and none is active; without completions one success is enough. */
export function evaluateCompletion({ spec, succeeded }: JobView, activeLeft: number): Verdict | undefined {
  const enough = spec.completions === undefined ? succeeded > 0 : succeeded >= spec.completions;
  if (!enough || activeLeft > 0) return undefined;
  return {
    type: 'SuccessCriteriaMet',
    reason: 'CompletionsReached',
    message: 'Reached expected number of succeeded pods',
  };
}

/** The conditions with this one; the same array when nothing changes. */
export function withJobCondition(
  conditions: readonly JobCondition[],
  wanted: Omit<JobCondition, 'lastProbeTime' | 'lastTransitionTime'>,
  nowMs: number,
): readonly JobCondition[] {
  const old = conditions.find((condition) => condition.type === wanted.type);
  if (
    old !== undefined &&
    old.status === wanted.status &&
    old.reason === wanted.reason &&
    old.message === wanted.message
  )
    return conditions;
  // A job that was never suspended does not get the condition.
  if (old === undefined && wanted.status !== 'True') return conditions;
  const time = formatTime(nowMs);
  const next: JobCondition = { ...wanted, lastProbeTime: time, lastTransitionTime: time };
  return old === undefined
    ? [...conditions, next]
    : conditions.map((condition) => (condition === old ? next : condition));
}
