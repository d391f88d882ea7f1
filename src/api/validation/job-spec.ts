/** Validation of a job's spec, also in cron jobs. Upstream: apis/batch/validation validateJobSpec. */
import type { Steps } from '../../base/steps.ts';
import type { Field } from '../field-error.ts';
import type { JobSpec } from '../gen/batch-v1.ts';
import { validateDomainPrefixedPath, validateNonnegative } from './common.ts';
import { internalForm } from './internal-form.ts';
import { validatePodFailurePolicy, validateSuccessPolicy } from './job-policies.ts';
import { validatePodTemplateSpec } from './pod-template.ts';

/** The limit of indexes that a status may list. */
const MAX_INDEXES = 100_000;
/** Jobs with more completions have lower limits of parallelism and failed indexes. */
const MANY_COMPLETIONS = 100_000;
const MAX_AMONG_MANY = 10_000;
const MAX_MANAGER_BYTES = 63;

const COUNTS = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
] as const;

function atMost(most: number, suffix = ''): string {
  return `must be less than or equal to ${most}${suffix}`;
}

function validateIndexed(spec: JobSpec, field: Field): void {
  const { completions, parallelism = 0, maxFailedIndexes } = spec;
  if (completions === undefined) field.at('completions').required('when completion mode is Indexed');
  if (parallelism > MAX_INDEXES)
    field.at('parallelism').invalid(parallelism, atMost(MAX_INDEXES, ' when completion mode is Indexed'));
  const place = field.at('maxFailedIndexes');
  if (completions !== undefined && (maxFailedIndexes ?? 0) > completions && maxFailedIndexes !== undefined)
    place.invalid(maxFailedIndexes, 'must be less than or equal to completions');
  if ((maxFailedIndexes ?? 0) > MAX_INDEXES) place.invalid(maxFailedIndexes, atMost(MAX_INDEXES));
  if ((completions ?? 0) > MANY_COMPLETIONS && spec.backoffLimitPerIndex !== undefined) validateMany(spec, field);
}

function validateMany({ parallelism = 0, maxFailedIndexes }: JobSpec, field: Field): void {
  const suffix = ` when completions are above ${MANY_COMPLETIONS} and used with backoff limit per index`;
  if (maxFailedIndexes === undefined)
    field.at('maxFailedIndexes').required(`must be specified when completions is above ${MANY_COMPLETIONS}`);
  if (parallelism > MAX_AMONG_MANY) field.at('parallelism').invalid(parallelism, atMost(MAX_AMONG_MANY, suffix));
  if ((maxFailedIndexes ?? 0) > MAX_AMONG_MANY)
    field.at('maxFailedIndexes').invalid(maxFailedIndexes, atMost(MAX_AMONG_MANY, suffix));
}

function validateCompletionMode(spec: JobSpec, field: Field): void {
  const { completionMode: mode } = spec;
  const modes = ['NonIndexed', 'Indexed'];
  if (mode !== undefined && !modes.includes(mode)) field.at('completionMode').notSupported(mode, modes);
  if (mode === 'Indexed') return validateIndexed(spec, field);
  if (mode !== undefined && mode !== 'NonIndexed') return;
  for (const name of ['backoffLimitPerIndex', 'maxFailedIndexes'] as const)
    if (spec[name] !== undefined) field.at(name).invalid(spec[name], 'requires indexed completion mode');
}

function validatePolicies(spec: JobSpec, field: Field): void {
  if (spec.podFailurePolicy !== undefined) validatePodFailurePolicy(spec, field.at('podFailurePolicy'));
  if (spec.successPolicy !== undefined) {
    if (spec.completionMode === 'Indexed') validateSuccessPolicy(spec, field.at('successPolicy'));
    else
      field
        .at('successPolicy')
        .invalid(internalForm(spec.successPolicy, 'batch.v1.SuccessPolicy'), 'requires indexed completion mode');
  }
  const replacements = spec.podFailurePolicy === undefined ? ['Failed', 'TerminatingOrFailed'] : ['Failed'];
  const { podReplacementPolicy: replacement } = spec;
  if (replacement !== undefined && !replacements.includes(replacement))
    field.at('podReplacementPolicy').notSupported(replacement, replacements);
}

function validateRestartPolicy({ template, podFailurePolicy }: JobSpec, field: Field): void {
  const { restartPolicy: policy = '' } = template?.spec ?? {};
  if (policy === '' || policy === 'Always') field.required('valid values: "OnFailure", "Never"');
  else if (policy !== 'OnFailure' && policy !== 'Never') field.notSupported(policy, ['OnFailure', 'Never']);
  else if (podFailurePolicy !== undefined && policy !== 'Never')
    field.invalid(policy, 'only "Never" is supported when podFailurePolicy is specified');
}

/** Validates all fields except the selector, which jobs of a cron job do not have yet. */
export function* validateJobSpec(spec: JobSpec, field: Field): Steps<void> {
  for (const name of COUNTS) validateNonnegative(spec[name], field.at(name));
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined)
    field.at('backoffLimitPerIndex').required('when maxFailedIndexes is specified');
  const { managedBy } = spec;
  if (managedBy !== undefined) {
    validateDomainPrefixedPath(managedBy, field.at('managedBy'));
    if (Buffer.byteLength(managedBy) > MAX_MANAGER_BYTES) field.at('managedBy').tooLong(MAX_MANAGER_BYTES);
  }
  validateCompletionMode(spec, field);
  validatePolicies(spec, field);
  yield* validatePodTemplateSpec(spec.template ?? {}, field.at('template'));
  validateRestartPolicy(spec, field.at('template').at('spec').at('restartPolicy'));
}
