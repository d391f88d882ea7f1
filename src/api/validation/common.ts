/** Checks that several kinds share. Upstream: apis/core/validation, apimachinery validation. */
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type { Toleration } from '../gen/core-v1.ts';
import type { Condition, IntOrString } from '../gen/meta-v1.ts';
import { percentOf } from '../int-or-string.ts';
import type { Int64 } from '../int64.ts';
import { FIELD_IMMUTABLE_TEXT, validateLabelName } from '../meta-validation.ts';
import { isDns1123Subdomain, isLabelValue, regexText } from '../names.ts';
import { isPercent, isPortName, isPortNumber } from '../value-formats.ts';
import { tryParseQuantity } from '../quantity.ts';
import { internalForm } from './internal-form.ts';

const NOT_NEGATIVE_TEXT = 'must be greater than or equal to 0';

/** The number must not be negative; it may be absent. */
export function validateNonnegative(value: Int64 | undefined, field: Field): void {
  if (value !== undefined && value < 0) field.invalid(value, NOT_NEGATIVE_TEXT);
}

/** The number must be positive; it may be absent. */
export function validatePositive(value: Int64 | undefined, field: Field): void {
  if (value !== undefined && value <= 0) field.invalid(value, 'must be greater than zero');
}

/** Refuses any change of the value. */
export function validateImmutable(value: unknown, old: unknown, field: Field): void {
  if (!deepEqual(value, old)) field.invalid(value, FIELD_IMMUTABLE_TEXT);
}

/** Refuses any change of a struct. Errors quote its internal form; `typeName` is its name in the schema tables. */
export function validateImmutableStruct(
  [value, old]: readonly [object | undefined, object | undefined],
  typeName: string,
  field: Field,
): void {
  if (!deepEqual(value, old)) field.invalid(value && internalForm(value, typeName), FIELD_IMMUTABLE_TEXT);
}

const HTTP_PATH = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const HTTP_PATH_PATTERN = new RegExp(`^${HTTP_PATH}$`);

/** Validates a path such as `acme.io/foo`. Errors quote the invalid part. */
export function validateDomainPrefixedPath(text: string, field: Field): void {
  if (text === '') return field.required();
  const slash = text.indexOf('/');
  if (slash <= 0 || slash === text.length - 1)
    return field.invalid(text, 'must be a domain-prefixed path (such as "acme.io/foo")');
  const host = text.slice(0, slash);
  const path = text.slice(slash + 1);
  field.complain(host, isDns1123Subdomain(host));
  if (!HTTP_PATH_PATTERN.test(path)) field.invalid(path, regexText('Invalid path', HTTP_PATH));
}

/** The text must be one of `choices`; an empty one is `Required value`. */
export function validateChoice(value: string | undefined, choices: readonly string[], field: Field): void {
  if (value === undefined || value === '') field.required();
  else if (!choices.includes(value)) field.notSupported(value, choices);
}

/** The text must be one of `choices`; it may be absent. */
export function validateOptionalChoice(value: string | undefined, choices: readonly string[], field: Field): void {
  if (value !== undefined && !choices.includes(value)) field.notSupported(value, choices);
}

/** A port number or, for a text, a port name. */
export function validatePortNumOrName(port: IntOrString, field: Field): void {
  field.complain(port, typeof port === 'number' ? isPortNumber(port) : isPortName(port));
}

/** A number or percentage that must not be negative. */
export function validateNonnegativeIntOrPercent(value: IntOrString, field: Field): void {
  if (typeof value === 'number') validateNonnegative(value, field);
  else field.complain(value, isPercent(value));
}

/** A percentage must be at most a hundred. */
export function validateNotAboveHundredPercent(value: IntOrString, field: Field): void {
  const percent = percentOf(value);
  if (percent !== undefined && percent > 100) field.invalid(value, 'must not be greater than 100%');
}

/** The quantity must not be negative. */
export function validateNonnegativeQuantity(quantity: string, field: Field): void {
  const parsed = tryParseQuantity(quantity);
  if (parsed === undefined) field.invalid(quantity, 'must be a valid quantity');
  else if (parsed.nanos < 0n) field.invalid(quantity, NOT_NEGATIVE_TEXT);
}

const TAINT_EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;

export function validateTaintEffect(effect: string, allowEmpty: boolean, field: Field): void {
  if (effect === '' && allowEmpty) return;
  if (effect === '') field.required();
  else if (!(TAINT_EFFECTS as readonly string[]).includes(effect)) field.notSupported(effect, TAINT_EFFECTS);
}

/** Validates tolerations of pods, runtime classes and others. */
export function validateTolerations(tolerations: readonly Toleration[] | undefined, field: Field): void {
  for (const [index, toleration] of (tolerations ?? []).entries()) validateToleration(toleration, field.item(index));
}

function validateToleration(toleration: Toleration, field: Field): void {
  const { key = '', operator = '', value = '', effect = '' } = toleration;
  if (key !== '') validateLabelName(key, field.at('key'));
  if (key === '' && operator !== 'Exists')
    field
      .at('operator')
      .invalid(operator, 'operator must be Exists when `key` is empty, which means "match all values and all keys"');
  if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute')
    field.at('effect').invalid(effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
  switch (operator) {
    case '':
    case 'Equal':
      if (isLabelValue(value).length > 0) field.at('operator').invalid(value, isLabelValue(value).join(';'));
      break;
    case 'Exists':
      if (value !== '') field.at('operator').invalid(value, "value must be empty when `operator` is 'Exists'");
      break;
    // A known operator whose feature gate is off.
    case 'Lt':
    case 'Gt':
      field.at('operator').notSupported(operator, ['Equal', 'Exists', 'Lt', 'Gt']);
      break;
    default:
      field.at('operator').notSupported(operator, ['Equal', 'Exists']);
  }
  if (effect !== '') validateTaintEffect(effect, true, field.at('effect'));
}

const CONDITION_STATUSES = ['False', 'True', 'Unknown'];
const MAX_REASON_BYTES = 1024;
const MAX_CONDITION_MESSAGE_BYTES = 32 * 1024;
const REASON_TEXT = regexText(
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
  '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?',
  'my_name',
  'MY_NAME',
  'MyName',
  'ReasonA,ReasonB',
  'ReasonA:ReasonB',
);

/** Validates conditions of metav1.Condition's form. */
export function validateConditions(conditions: readonly Condition[] | undefined, field: Field): void {
  const seen = new Set<string>();
  for (const [index, condition] of (conditions ?? []).entries()) {
    const place = field.item(index);
    if (seen.has(condition.type)) place.at('type').duplicate(condition.type);
    seen.add(condition.type);
    validateCondition(condition, place);
  }
}

function validateCondition(condition: Condition, field: Field): void {
  const { type = '', status = '', observedGeneration = 0, reason = '', message = '' } = condition;
  validateLabelName(type, field.at('type'));
  if (!CONDITION_STATUSES.includes(status)) field.at('status').notSupported(status, CONDITION_STATUSES);
  if (observedGeneration < 0)
    field.at('observedGeneration').invalid(observedGeneration, 'must be greater than or equal to zero');
  if ((condition.lastTransitionTime ?? '') === '') field.at('lastTransitionTime').required();
  if (reason === '') field.at('reason').required();
  else {
    if (!/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/.test(reason)) field.at('reason').invalid(reason, REASON_TEXT);
    if (Buffer.byteLength(reason) > MAX_REASON_BYTES) field.at('reason').tooLong(MAX_REASON_BYTES);
  }
  if (Buffer.byteLength(message) > MAX_CONDITION_MESSAGE_BYTES)
    field.at('message').tooLong(MAX_CONDITION_MESSAGE_BYTES);
}

/** Validates conditions of which upstream checks only the type. */
export function validateTypedConditions(
  conditions: readonly { readonly type?: string }[] | undefined,
  field: Field,
): void {
  const seen = new Set<string>();
  for (const [index, { type = '' }] of (conditions ?? []).entries()) {
    const place = field.item(index).at('type');
    if (seen.has(type)) place.duplicate(type);
    seen.add(type);
    if (type === '') place.required();
  }
}
