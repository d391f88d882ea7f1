/** Validation of jobs. Upstream: apis/batch/validation. */
import { deepEqual } from '../../base/equal.ts';
import type { Steps } from '../../base/steps.ts';
import { Field } from '../field-error.ts';
import type { Job, JobSpec } from '../gen/batch-v1.ts';
import type { Container, PodTemplateSpec } from '../gen/core-v1.ts';
import type { LabelSelector } from '../gen/meta-v1.ts';
import { compileLabelSelector } from '../label-selector.ts';
import { isDns1123Label } from '../names.ts';
import { validateImmutable, validateImmutableStruct } from './common.ts';
import { shownMap, shownSelector } from './internal-form.ts';
import { validateJobSpec } from './job-spec.ts';
import { validateLabelSelector } from './selectors.ts';

/** The selector must match the template: a job that does not select its own pods would create new ones for ever. */
function validateSelector({ selector, template }: JobSpec, field: Field): void {
  const labels = template?.metadata?.labels;
  if (selector === undefined) field.at('selector').required();
  else validateLabelSelector(selector, field.at('selector'));
  if (matches(selector, labels) !== false) return;
  field
    .at('template')
    .at('metadata')
    .at('labels')
    .invalid(shownMap(labels), '`selector` does not match template `labels`');
}

type Labels = Readonly<Record<string, string>>;

/** Undefined when the selector is invalid. */
function matches(selector: LabelSelector | undefined, labels: Labels | undefined): boolean | undefined {
  const check = Field.root();
  if (selector !== undefined) validateLabelSelector(selector, check);
  return check.errors.length > 0 ? undefined : compileLabelSelector(selector).matches(labels);
}

/** Checks the labels by which the server identifies the pods of a job, because clients can set other values. */
function validateGenerated({ metadata, spec }: Job, field: Field): void {
  if (spec === undefined || spec.manualSelector === true || spec.selector === undefined) return;
  const { uid = '', name = '' } = metadata;
  const expected = {
    'controller-uid': uid,
    'job-name': name,
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
  };
  const place = field.at('spec').at('template').at('metadata').at('labels');
  const labels = spec.template?.metadata?.labels ?? {};
  for (const [key, value] of Object.entries(expected)) {
    if (!Object.hasOwn(labels, key)) place.key(key).required(`must be '${value}'`);
    else if (labels[key] !== value) place.key(key).invalid(shownMap(labels), `must be '${value}'`);
  }
  if (matches(spec.selector, expected) === false)
    field.at('spec').at('selector').invalid(shownSelector(spec.selector), '`selector` not auto-generated');
}

export function* validateJob(job: Job, field: Field): Steps<void> {
  const place = field.at('spec');
  const spec = job.spec;
  if (spec === undefined) return place.required();
  validateGenerated(job, field);
  yield* validateJobSpec(spec, place);
  validateSelector(spec, place);
  const { name = '' } = job.metadata;
  if (spec.completionMode !== 'Indexed' || (spec.completions ?? 0) <= 0) return;
  const hostname = `${name}-${spec.completions! - 1}`;
  if (isDns1123Label(hostname).length > 0)
    field.at('metadata').at('name').invalid(name, `will not able to create pod with invalid DNS label: ${hostname}`);
}

/**
 * Whether the job is suspended and has no running pods. Queueing controllers may then change its node placement and resources.
 */
function isAtRest({ spec, status }: Job): boolean {
  if (spec?.suspend !== true || (status?.active ?? 0) > 0) return false;
  const isSuspended =
    status?.conditions?.some((condition) => condition.type === 'Suspended' && condition.status === 'True') === true;
  return status?.startTime === undefined || isSuspended;
}

/**
 * The part of a template that is immutable even while its job is suspended. Upstream: MutableSchedulingDirectives-,
 * MutablePodResourcesForSuspendedJobs.
 */
function fixedPart({ spec }: PodTemplateSpec): object {
  const { nodeSelector: _n, tolerations: _t, schedulingGates: _g, affinity, ...rest } = spec ?? { containers: [] };
  const { nodeAffinity: _na, ...otherAffinity } = affinity ?? {};
  const unsized = (containers: readonly Container[] = []): object[] =>
    containers.map(({ resources: _r, ...container }) => container);
  const { containers, initContainers, ...others } = rest;
  return {
    ...{ otherAffinity, others },
    ...{ containers: unsized(containers), initContainers: unsized(initContainers) },
  };
}

function validateTemplateUpdate(job: Job, old: Job, field: Field): void {
  const [now, before] = [job.spec!.template, old.spec!.template];
  if (!isAtRest(old)) validateImmutable(now, before, field);
  else if (!deepEqual(fixedPart(now), fixedPart(before))) validateImmutable(now.spec, before.spec, field.at('spec'));
}

function validateCompletionsUpdate(spec: JobSpec, before: JobSpec, field: Field): void {
  if (spec.completionMode !== 'Indexed') return validateImmutable(spec.completions, before.completions, field);
  if (spec.completions === undefined || spec.completions === before.completions) return;
  if (spec.completions !== spec.parallelism)
    field.invalid(spec.completions, 'can only be modified in tandem with spec.parallelism');
}

/** Most fields of a job are immutable. As upstream, the spec is checked twice, so its errors appear twice. */
export function* validateJobUpdate(job: Job, old: Job, field: Field): Steps<void> {
  yield* validateJob(job, field);
  const place = field.at('spec');
  const [spec, before] = [job.spec!, old.spec!];
  yield* validateJobSpec(spec, place);
  validateSelector(spec, place);
  validateCompletionsUpdate(spec, before, place.at('completions'));
  validateImmutableStruct([spec.selector, before.selector], 'meta.v1.LabelSelector', place.at('selector'));
  validateTemplateUpdate(job, old, place.at('template'));
  const fixed = (name: 'completionMode' | 'backoffLimitPerIndex' | 'managedBy'): void =>
    validateImmutable(spec[name], before[name], place.at(name));
  fixed('completionMode');
  const failures = [spec.podFailurePolicy, before.podFailurePolicy] as const;
  validateImmutableStruct(failures, 'batch.v1.PodFailurePolicy', place.at('podFailurePolicy'));
  fixed('backoffLimitPerIndex');
  fixed('managedBy');
  const successes = [spec.successPolicy, before.successPolicy] as const;
  validateImmutableStruct(successes, 'batch.v1.SuccessPolicy', place.at('successPolicy'));
}
