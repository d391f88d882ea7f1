/** Jobs. Upstream: apis/batch/validation. */
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type { Job, JobSpec, PodFailurePolicyRule, SuccessPolicyRule } from '../gen/batch-v1.ts';
import type { Container, PodTemplateSpec } from '../gen/core-v1.ts';
import { compileLabelSelector } from '../label-selector.ts';
import { isDns1123Subdomain, isDomainPrefixedPath, isQualifiedName } from '../names.ts';
import { validateImmutable, validateLabelSelector, validateNonnegative, validateOptionalChoice } from './common.ts';
import { validatePodTemplateSpec } from './pod-template.ts';

const MAX_PARALLELISM_INDEXED = 100000;
const ACTIONS = ['Count', 'FailIndex', 'FailJob', 'Ignore'];

function validateFailureRule(rule: PodFailurePolicyRule, spec: JobSpec, field: Field): void {
  if (rule.action === undefined || rule.action === '')
    field.at('action').required(`valid values: ${ACTIONS.map((action) => `"${action}"`).join(', ')}`);
  else validateOptionalChoice(rule.action, ACTIONS, field.at('action'));
  if (rule.action === 'FailIndex' && spec.backoffLimitPerIndex === undefined)
    field.at('action').invalid(rule.action, 'requires the backoffLimitPerIndex to be set');
  const { onExitCodes, onPodConditions = [] } = rule;
  if (onExitCodes !== undefined) {
    const place = field.at('onExitCodes');
    validateOptionalChoice(onExitCodes.operator, ['In', 'NotIn'], place.at('operator'));
    const name = onExitCodes.containerName;
    const containers = [...(spec.template.spec?.containers ?? []), ...(spec.template.spec?.initContainers ?? [])];
    if (name !== undefined && !containers.some((container) => container.name === name))
      place
        .at('containerName')
        .invalid(name, 'must be one of the container or initContainer names in the pod template');
    const values = onExitCodes.values ?? [];
    if (values.length === 0) place.at('values').invalid(values, 'at least one value is required');
    else if (values.length > 255) place.at('values').tooMany(values.length, 255);
    for (const [index, value] of values.entries()) {
      if (onExitCodes.operator === 'In' && value === 0)
        place.at('values').item(index).invalid(value, 'must not be 0 for the In operator');
      if (index > 0 && values[index - 1] === value) place.at('values').item(index).duplicate(value);
      else if (index > 0 && values[index - 1]! > value) place.at('values').invalid(values, 'must be ordered');
    }
  }
  for (const [index, pattern] of onPodConditions.entries()) {
    field.at('onPodConditions').item(index).at('type').complain(pattern.type, isQualifiedName(pattern.type));
    validateOptionalChoice(
      pattern.status,
      ['False', 'True', 'Unknown'],
      field.at('onPodConditions').item(index).at('status'),
    );
  }
  if (onExitCodes !== undefined && onPodConditions.length > 0)
    field.invalid('', 'specifying both OnExitCodes and OnPodConditions is not supported');
  if (onExitCodes === undefined && onPodConditions.length === 0)
    field.invalid('', 'specifying one of OnExitCodes and OnPodConditions is required');
}

function validateSuccessRule(rule: SuccessPolicyRule, spec: JobSpec, field: Field): void {
  const { succeededCount, succeededIndexes } = rule;
  if (succeededCount === undefined && succeededIndexes === undefined)
    field.required('at least one of succeededCount or succeededIndexes must be specified');
  if (succeededIndexes !== undefined && !/^\d+(-\d+)?(,\d+(-\d+)?)*$/.test(succeededIndexes))
    field
      .at('succeededIndexes')
      .invalid(succeededIndexes, 'error parsing succeededIndexes: cannot convert string to integer for index');
  validateNonnegative(succeededCount, field.at('succeededCount'));
  if (succeededCount !== undefined && succeededCount > (spec.completions ?? 0))
    field
      .at('succeededCount')
      .invalid(
        succeededCount,
        `must be less than or equal to ${spec.completions ?? 0} (the number of specified completions)`,
      );
}

function validateIndexed(spec: JobSpec, field: Field): void {
  if (spec.completionMode === 'Indexed') {
    if (spec.completions === undefined) field.at('completions').required(`when completion mode is Indexed`);
    const parallelism = spec.parallelism ?? 0;
    if (parallelism > MAX_PARALLELISM_INDEXED && spec.backoffLimitPerIndex !== undefined)
      field
        .at('parallelism')
        .invalid(
          parallelism,
          `must be less than or equal to ${MAX_PARALLELISM_INDEXED} when completion mode is Indexed`,
        );
  } else {
    if (spec.backoffLimitPerIndex !== undefined)
      field.at('backoffLimitPerIndex').invalid(spec.backoffLimitPerIndex, 'requires indexed completion mode');
    if (spec.successPolicy !== undefined)
      field.at('successPolicy').invalid(spec.successPolicy, 'requires indexed completion mode');
  }
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined)
    field.at('backoffLimitPerIndex').required('when maxFailedIndexes is specified');
}

/** The spec of a job, also in cron jobs, whose jobs have no selector yet. */
export function validateJobSpec(spec: JobSpec, field: Field): void {
  for (const name of [
    'parallelism',
    'completions',
    'activeDeadlineSeconds',
    'backoffLimit',
    'ttlSecondsAfterFinished',
    'backoffLimitPerIndex',
    'maxFailedIndexes',
  ] as const) {
    validateNonnegative(spec[name], field.at(name));
  }
  validateOptionalChoice(spec.completionMode, ['Indexed', 'NonIndexed'], field.at('completionMode'));
  validateIndexed(spec, field);
  validateOptionalChoice(
    spec.podReplacementPolicy,
    ['Failed', 'TerminatingOrFailed'],
    field.at('podReplacementPolicy'),
  );
  if (spec.managedBy !== undefined)
    field.at('managedBy').complain(spec.managedBy, isDomainPrefixedPath(spec.managedBy));
  for (const [index, rule] of (spec.successPolicy?.rules ?? []).entries())
    validateSuccessRule(rule, spec, field.at('successPolicy').at('rules').item(index));
  if (spec.template === undefined) return field.at('template').required();
  if (spec.podFailurePolicy !== undefined) {
    if (spec.template.spec?.restartPolicy !== 'Never') {
      field
        .at('template')
        .at('spec')
        .at('restartPolicy')
        .invalid(spec.template.spec?.restartPolicy, 'only "Never" is supported when podFailurePolicy is specified');
    }
    if (spec.podReplacementPolicy === 'TerminatingOrFailed')
      field.at('podReplacementPolicy').notSupported(spec.podReplacementPolicy, ['Failed']);
    for (const [index, rule] of (spec.podFailurePolicy.rules ?? []).entries())
      validateFailureRule(rule, spec, field.at('podFailurePolicy').at('rules').item(index));
  }
  validatePodTemplateSpec(spec.template, field.at('template'));
  const policy = spec.template.spec?.restartPolicy;
  const place = field.at('template').at('spec').at('restartPolicy');
  if (policy === '' || policy === 'Always' || policy === undefined)
    place.required('valid values: "OnFailure", "Never"');
  else if (policy !== 'OnFailure' && policy !== 'Never') place.notSupported(policy, ['OnFailure', 'Never']);
}

/** Pods a job makes must be its own: one that does not see them would make others for ever. */
function validateSelector({ selector, template }: JobSpec, field: Field): void {
  const labels = template?.metadata?.labels;
  if (selector === undefined) field.at('selector').required();
  else validateLabelSelector(selector, field.at('selector'));
  if ((selector !== undefined && field.errors.length > 0) || compileLabelSelector(selector).matches(labels)) return;
  field
    .at('template')
    .at('metadata')
    .at('labels')
    .invalid(labels ?? null, '`selector` does not match template `labels`');
}

export function validateJob(job: Job, field: Field): void {
  const place = field.at('spec');
  const spec = job.spec;
  if (spec === undefined) return place.required();
  validateSelector(spec, place);
  if (spec.completionMode === 'Indexed' && (spec.completions ?? 0) > 0) {
    const podName = `${job.metadata.name ?? ''}-${spec.completions! - 1}`;
    if (isDns1123Subdomain(podName).length > 0 || podName.length > 63) {
      field
        .at('metadata')
        .at('name')
        .invalid(job.metadata.name, `will not able to create pod with invalid DNS label: ${podName}`);
    }
  }
  validateJobSpec(spec, place);
}

/** Whether nothing of the job runs, nor will before somebody says so: who queues jobs may then say where and how large. */
function isAtRest({ spec, status }: Job): boolean {
  if (spec?.suspend !== true || (status?.active ?? 0) > 0) return false;
  const isTold = status?.conditions?.some((told) => told.type === 'Suspended' && told.status === 'True') === true;
  return status?.startTime === undefined || isTold;
}

/** What stays of a template even while its job is at rest. Upstream: MutableSchedulingDirectives-, MutablePodResourcesForSuspendedJobs. */
function fixedPart({ metadata, spec }: PodTemplateSpec): object {
  const { labels: _l, annotations: _a, ...ownMetadata } = metadata ?? {};
  const { nodeSelector: _n, tolerations: _t, schedulingGates: _g, affinity, ...rest } = spec ?? { containers: [] };
  const { nodeAffinity: _na, ...otherAffinity } = affinity ?? {};
  const unsized = (containers: readonly Container[] = []): object[] =>
    containers.map(({ resources: _r, ...container }) => container);
  const { containers, initContainers, ...others } = rest;
  return {
    ...{ ownMetadata, otherAffinity, others },
    ...{ containers: unsized(containers), initContainers: unsized(initContainers) },
  };
}

function validateTemplateUpdate(job: Job, old: Job, field: Field): void {
  const [now, before] = [job.spec!.template, old.spec!.template];
  if (!isAtRest(old) || !deepEqual(fixedPart(now), fixedPart(before))) validateImmutable(now, before, field);
}

function validateCompletionsUpdate(spec: JobSpec, before: JobSpec, field: Field): void {
  if (spec.completionMode !== 'Indexed') return validateImmutable(spec.completions, before.completions, field);
  if (spec.completions === undefined || spec.completions === before.completions) return;
  if (spec.completions !== spec.parallelism)
    field.invalid(spec.completions, 'can only be modified in tandem with spec.parallelism');
}

/** Most of a job never changes. */
export function validateJobUpdate(job: Job, old: Job, field: Field): void {
  const place = field.at('spec');
  const [spec, before] = [job.spec!, old.spec!];
  validateSelector(spec, place);
  validateJobSpec(spec, place);
  validateCompletionsUpdate(spec, before, place.at('completions'));
  validateImmutable(spec.selector, before.selector, place.at('selector'));
  validateTemplateUpdate(job, old, place.at('template'));
  for (const name of [
    'completionMode',
    'podFailurePolicy',
    'backoffLimitPerIndex',
    'managedBy',
    'successPolicy',
  ] as const) {
    validateImmutable(spec[name], before[name], place.at(name));
  }
}
