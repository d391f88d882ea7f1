/** Checks that claims, classes, slices and taint rules of devices share. Upstream: apis/resource/validation. */
import type { Steps } from '../../base/steps.ts';
import { compileTogetherSteps } from '../cel/compile.ts';
import { compileDeviceSelector, DEVICE_SELECTOR_COST_LIMIT, deviceSelectorCost } from '../cel/device-types.ts';
import { CompileError } from '../cel/texts.ts';
import { stringifyJson } from '../codec/json.ts';
import type { Field } from '../field-error.ts';
import type {
  CELDeviceSelector,
  DeviceSelector,
  DeviceTaint,
  DeviceToleration,
  OpaqueDeviceConfiguration,
} from '../gen/resource-v1.ts';
import { validateLabelName } from '../meta-validation.ts';
import { isDns1123Label, isDns1123Subdomain, isLabelValue } from '../names.ts';
import { validateChoice } from './common.ts';
import { validateCSIDriverName } from './csi.ts';

const MAX_SELECTORS = 32;
const MAX_EXPRESSION_BYTES = 10 * 1024;
const MAX_OPAQUE_BYTES = 10 * 1024;
const MAX_POOL_NAME_LENGTH = 253;
const MAX_ID_LENGTH = 32;
const MAX_BINDING_CONDITIONS = 4;
const EFFECTS = ['NoExecute', 'NoSchedule', 'None'];

/** The checks of a list's items. */
export interface ListChecks<T> {
  /** The limit of items; a longer list has one error and its items are not checked. */
  readonly max?: number;
  item(item: T, field: Field): void;
  /** A key that must be unique among the items. */
  key?(item: T): string;
  /** The value that the error about a repeated key quotes; by default the key. */
  shown?(item: T): object;
}

export function validateList<T>(list: readonly T[] | undefined, field: Field, checks: ListChecks<T>): void {
  const items = list ?? [];
  const { max = Infinity, key, shown } = checks;
  if (items.length > max) return field.tooMany(items.length, max);
  for (const [index, item] of items.entries()) checks.item(item, field.item(index));
  if (key === undefined) return;
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    if (seen.has(key(item))) field.item(index).duplicate(shown?.(item) ?? key(item));
    seen.add(key(item));
  }
}

export const validateDriverName = validateCSIDriverName;

/** A name that must be a DNS label; an empty one is invalid rather than required. */
export function validateLabelLikeName(name: string | undefined, field: Field): void {
  field.complain(name ?? '', isDns1123Label(name ?? ''));
}

/** A pool's name: domains separated by slashes. */
export function validatePoolName(name: string | undefined, field: Field): void {
  if (name === undefined || name === '') return field.required();
  if (name.length > MAX_POOL_NAME_LENGTH) field.tooLong(MAX_POOL_NAME_LENGTH);
  for (const part of name.split('/')) field.complain(part, isDns1123Subdomain(part));
}

/**
 * The name of an attribute or a capacity: an identifier, optionally after a domain and a slash. As upstream, names with more
 * slashes are accepted, because objects with such names exist.
 */
export function validateDeviceQualifiedName(name: string, field: Field): void {
  const slash = name.indexOf('/');
  if (slash < 0) return validateIdentifier(name, field);
  const [domain, identifier] = [name.slice(0, slash), name.slice(slash + 1)];
  if (identifier.includes('/')) return;
  if (domain === '') field.invalid('', 'the domain must not be empty');
  else validateDriverName(domain, field);
  if (identifier === '') field.invalid('', 'the name must not be empty');
  else validateIdentifier(identifier, field);
}

/** A name with a mandatory domain, as constraints name attributes. */
export function validateDeviceFullName(name: string, field: Field): void {
  validateDeviceQualifiedName(name, field);
  if (!name.includes('/'))
    field.invalid(name, 'a fully qualified name must be a domain and a name separated by a slash');
}

function validateIdentifier(text: string, field: Field): void {
  if (text.length > MAX_ID_LENGTH) field.tooLong(MAX_ID_LENGTH);
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(text))
    field.invalid(
      text,
      "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')",
    );
}

/** Every selector must have an expression that compiles and whose cost is within the limit. */
export function validateDeviceSelectors(selectors: readonly DeviceSelector[] | undefined, field: Field): void {
  validateList(selectors, field, {
    max: MAX_SELECTORS,
    item({ cel }, at) {
      if (cel === undefined) at.at('cel').required();
      else validateSelectorExpression(cel, at.at('cel').at('expression'));
    },
  });
}

/** The cost of a selector, or its compile error. */
type SelectorCost = number | CompileError;

/** Costs of selectors that were compiled before the validation of their object. */
const costs = new WeakMap<CELDeviceSelector, SelectorCost>();

/**
 * Compiles the selectors of an object, one per step, before validation: a claim may have 8,000. Upstream does not limit their
 * total cost.
 */
export function compileSelectorSteps(selectors: readonly (readonly DeviceSelector[] | undefined)[]): Steps<void> {
  return compileTogetherSteps(costSteps(selectors));
}

function* costSteps(selectors: readonly (readonly DeviceSelector[] | undefined)[]): Steps<void> {
  for (const list of selectors)
    if (list !== undefined && list.length <= MAX_SELECTORS)
      for (const { cel } of list) {
        if (cel === undefined || isTooLong(cel)) continue;
        costs.set(cel, costOf(cel));
        yield;
      }
}

function isTooLong({ expression = '' }: CELDeviceSelector): boolean {
  return Buffer.byteLength(expression) > MAX_EXPRESSION_BYTES;
}

function costOf({ expression = '' }: CELDeviceSelector): SelectorCost {
  try {
    return deviceSelectorCost(compileDeviceSelector(expression));
  } catch (error) {
    if (error instanceof CompileError) return error;
    throw error;
  }
}

function validateSelectorExpression(cel: CELDeviceSelector, field: Field): void {
  if (isTooLong(cel)) return field.tooLong(MAX_EXPRESSION_BYTES);
  const { expression = '' } = cel;
  const cost = costs.get(cel) ?? costOf(cel);
  if (cost instanceof CompileError) {
    // Upstream's text for an expression whose result has another type differs for device selectors.
    const type = /^must evaluate to bool but got (.*)$/s.exec(cost.message)?.[1];
    field.invalid(
      expression,
      type === undefined ? cost.message : `must evaluate to bool or the unknown type, not ${type}`,
    );
  } else if (cost > DEVICE_SELECTOR_COST_LIMIT) field.forbidden('too complex, exceeds cost limit');
}

/** Validates the configuration for a driver: an object of limited size. */
export function validateDeviceConfiguration(
  { opaque }: { readonly opaque?: OpaqueDeviceConfiguration },
  field: Field,
): void {
  const at = field.at('opaque');
  if (opaque === undefined) return at.required();
  validateDriverName(opaque.driver, at.at('driver'));
  validateOpaque(opaque.parameters, at.at('parameters'));
}

/** The value must be an object; its content is not checked. */
export function validateOpaque(value: unknown, field: Field): void {
  if (value === undefined || value === null) field.required();
  else if (Buffer.byteLength(stringifyJson(value)) > MAX_OPAQUE_BYTES) field.tooLong(MAX_OPAQUE_BYTES);
  else if (typeof value !== 'object' || Array.isArray(value))
    field.invalid('<value omitted>', 'must be a valid JSON object');
}

export function validateDeviceTaint(taint: DeviceTaint, field: Field): void {
  validateLabelName(taint.key ?? '', field.at('key'));
  if ((taint.value ?? '') !== '') field.at('value').complain(taint.value, isLabelValue(taint.value!));
  validateChoice(taint.effect, EFFECTS, field.at('effect'));
}

/** Validates tolerations of device taints. */
export function validateDeviceTolerations(tolerations: readonly DeviceToleration[] | undefined, field: Field): void {
  validateList(tolerations, field, {
    item({ key = '', operator = '', value = '', effect = '' }, at) {
      if (key !== '') validateLabelName(key, at.at('key'));
      validateChoice(operator, ['Equal', 'Exists'], at.at('operator'));
      if (operator === 'Equal') at.at('value').complain(value, isLabelValue(value));
      if (operator === 'Exists' && value !== '') at.at('value').invalid(value, 'must be empty for operator `Exists`');
      if (effect !== '') validateChoice(effect, EFFECTS, at.at('effect'));
    },
  });
}

/** Validates binding conditions and binding failure conditions: both lists or none must be set, and they must not overlap. */
export function validateBindingConditions(
  conditions: { readonly bindingConditions?: readonly string[]; readonly bindingFailureConditions?: readonly string[] },
  field: Field,
): void {
  const { bindingConditions: good = [], bindingFailureConditions: bad = [] } = conditions;
  const [atGood, atBad] = [field.at('bindingConditions'), field.at('bindingFailureConditions')];
  const checks = { max: MAX_BINDING_CONDITIONS, item: validateLabelName };
  validateList(good, atGood, checks);
  validateList(bad, atBad, checks);
  const seen = new Set<string>();
  for (const [index, name] of good.entries()) {
    if (seen.has(name)) atGood.item(index).duplicate(name);
    seen.add(name);
  }
  const failures = new Set<string>();
  for (const [index, name] of bad.entries()) {
    if (failures.has(name)) atBad.item(index).duplicate(name);
    failures.add(name);
    if (seen.has(name))
      atBad.item(index).invalid(name, 'bindingFailureConditions must not overlap with bindingConditions');
  }
  if (good.length === 0 && bad.length > 0)
    atGood.invalid(
      conditions.bindingConditions ?? null,
      'bindingConditions are required to use bindingFailureConditions',
    );
  if (bad.length === 0 && good.length > 0)
    atBad.invalid(
      conditions.bindingFailureConditions ?? null,
      'bindingFailureConditions are required to use bindingConditions',
    );
}
