/** Validation of a job's failure policy and success policy. Upstream: apis/batch/validation. */
import { quote } from '../../base/go-quote.ts';
import type { Field } from '../field-error.ts';
import type {
  JobSpec,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyOnPodConditionsPattern,
  PodFailurePolicyRule,
  SuccessPolicyRule,
} from '../gen/batch-v1.ts';
import { isQualifiedName } from '../names.ts';
import { validateNonnegative } from './common.ts';
import { countIndexes } from './job-indexes.ts';

const MAX_RULES = 20;
const MAX_PATTERNS = 20;
const MAX_EXIT_CODES = 255;
const MAX_INDEXES_BYTES = 64 * 1024;
const ACTIONS = ['Count', 'FailIndex', 'FailJob', 'Ignore'];
const OPERATORS = ['In', 'NotIn'];
const STATUSES = ['False', 'True', 'Unknown'];

/** The value must be one of `choices`. The error for an empty value prints the choices as Go prints a list. */
function validateListed(value: string | undefined, choices: readonly string[], field: Field): void {
  if ((value ?? '') === '') field.required(`valid values: [${choices.map(quote).join(' ')}]`);
  else if (!choices.includes(value!)) field.notSupported(value, choices);
}

function validateExitCodes(codes: PodFailurePolicyOnExitCodesRequirement, names: Set<string>, field: Field): void {
  const { operator, containerName, values = [] } = codes;
  validateListed(operator, OPERATORS, field.at('operator'));
  if (containerName !== undefined && !names.has(containerName))
    field
      .at('containerName')
      .invalid(containerName, 'must be one of the container or initContainer names in the pod template');
  const place = field.at('values');
  if (values.length === 0) place.invalid(codes.values ?? null, 'at least one value is required');
  else if (values.length > MAX_EXIT_CODES) place.tooMany(values.length, MAX_EXIT_CODES);
  const seen = new Set<number>();
  for (const [index, value] of values.entries()) {
    if (operator === 'In' && value === 0) place.item(index).invalid(value, 'must not be 0 for the In operator');
    if (seen.has(value)) place.item(index).duplicate(value);
    seen.add(value);
  }
  if (values.some((value, index) => index > 0 && values[index - 1]! > value)) place.invalid(values, 'must be ordered');
}

function validatePatterns(patterns: readonly PodFailurePolicyOnPodConditionsPattern[], field: Field): void {
  if (patterns.length > MAX_PATTERNS) field.tooMany(patterns.length, MAX_PATTERNS);
  for (const [index, { type = '', status }] of patterns.entries()) {
    field.item(index).at('type').complain(type, isQualifiedName(type));
    validateListed(status, STATUSES, field.item(index).at('status'));
  }
}

/** The parts of the job that rules of its failure policy refer to. */
interface FailureContext {
  readonly spec: JobSpec;
  /** Names of all containers, including init containers: `onExitCodes.containerName` may name any of them. */
  readonly names: Set<string>;
}

function validateFailureRule(rule: PodFailurePolicyRule, { spec, names }: FailureContext, field: Field): void {
  const { action, onExitCodes, onPodConditions = [] } = rule;
  if (action !== 'FailIndex') validateListed(action, ACTIONS, field.at('action'));
  else if (spec.backoffLimitPerIndex === undefined)
    field.at('action').invalid(action, 'requires the backoffLimitPerIndex to be set');
  if (onExitCodes !== undefined) validateExitCodes(onExitCodes, names, field.at('onExitCodes'));
  validatePatterns(onPodConditions, field.at('onPodConditions'));
  if (onExitCodes !== undefined && onPodConditions.length > 0)
    field.invalidWhole('specifying both OnExitCodes and OnPodConditions is not supported');
  if (onExitCodes === undefined && onPodConditions.length === 0)
    field.invalidWhole('specifying one of OnExitCodes and OnPodConditions is required');
}

export function validatePodFailurePolicy(spec: JobSpec, field: Field): void {
  const rules = spec.podFailurePolicy?.rules ?? [];
  const place = field.at('rules');
  if (rules.length > MAX_RULES) place.tooMany(rules.length, MAX_RULES);
  const { containers = [], initContainers = [] } = spec.template?.spec ?? {};
  const names = new Set([...containers, ...initContainers].map(({ name }) => name));
  for (const [index, rule] of rules.entries()) validateFailureRule(rule, { spec, names }, place.item(index));
}

function validateSuccessRule(rule: SuccessPolicyRule, completions: number, field: Field): void {
  const { succeededCount: count, succeededIndexes: indexes } = rule;
  if (count === undefined && indexes === undefined)
    field.required('at least one of succeededCount or succeededIndexes must be specified');
  const total = indexes === undefined ? 0 : countIndexes(indexes, completions);
  const place = field.at('succeededIndexes');
  if (Buffer.byteLength(indexes ?? '') > MAX_INDEXES_BYTES) place.tooLong(MAX_INDEXES_BYTES);
  if (typeof total === 'string') place.invalid(indexes, `error parsing succeededIndexes: ${total}`);
  if (count === undefined) return;
  const countPlace = field.at('succeededCount');
  validateNonnegative(count, countPlace);
  const atMost = (most: number, what: string): void =>
    countPlace.invalid(count, `must be less than or equal to ${most} (the number of ${what})`);
  if (count > completions) atMost(completions, 'specified completions');
  const named = typeof total === 'string' ? 0 : total;
  if (indexes !== undefined && count > named) atMost(named, 'indexes in the specified succeededIndexes field');
}

export function validateSuccessPolicy(spec: JobSpec, field: Field): void {
  const rules = spec.successPolicy?.rules ?? [];
  const place = field.at('rules');
  if (rules.length === 0) place.required('at least one rules must be specified when the successPolicy is specified');
  if (rules.length > MAX_RULES) place.tooMany(rules.length, MAX_RULES);
  for (const [index, rule] of rules.entries()) validateSuccessRule(rule, spec.completions ?? 0, place.item(index));
}
