// Validation of attributes and capacities of devices. Upstream: resource/validation (validateDeviceAttribute,
// validateDeviceCapacity).
import type { Field } from '../field-error.ts';
import type {
  CapacityRequestPolicy,
  CapacityRequestPolicyRange,
  DeviceAttribute,
  DeviceCapacity,
} from '../gen/resource-v1.ts';
import { addQuantities, parseQuantity } from '../quantity.ts';
import { validateList } from './device-parts.ts';

const MAX_VALUE_BYTES = 64;

const MAX_VALID_VALUES = 10;

const SEMVER =
  /^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}(-(0|[1-9]\d*|\d*[A-Za-z-][\dA-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][\dA-Za-z-]*))*)?(\+[\dA-Za-z-]+(\.[\dA-Za-z-]+)*)?$/;

export function validateAttribute(attribute: DeviceAttribute, field: Field): void {
  const version = (text: string, at: Field): void => {
    if (!SEMVER.test(text)) at.invalid(text, 'must be a string compatible with semver.org spec 2.0.0');
    if (Buffer.byteLength(text) > MAX_VALUE_BYTES) at.tooLong(MAX_VALUE_BYTES);
  };
  const string = (text: string, at: Field): void => {
    if (Buffer.byteLength(text) > MAX_VALUE_BYTES) at.tooLong(MAX_VALUE_BYTES);
  };
  if (attribute.string !== undefined) string(attribute.string, field.at('string'));
  if (attribute.version !== undefined) version(attribute.version, field.at('version'));
  for (const name of ['bools', 'ints', 'strings', 'versions'] as const) {
    if (attribute[name]?.length === 0) field.at(name).invalid([], 'must not be empty if specified');
    if (name === 'strings') validateList(attribute.strings, field.at(name), { item: string });
    if (name === 'versions') validateList(attribute.versions, field.at(name), { item: version });
  }
  const count = Object.values(attribute).filter((value) => value !== undefined).length;
  if (count !== 1) field.invalid(count === 0 ? '' : shownAttribute(attribute), 'exactly one value must be specified');
}

/** The attribute with the field names of upstream's internal type. */
function shownAttribute({ int, bool, string, version, ints, bools, strings, versions }: DeviceAttribute): object {
  const one = { int, bool, string, version };
  const some = { ints, bools, strings, versions };
  const names = [...Object.entries(one), ...Object.entries(some)].map(([name, value]) => {
    const goName = `${name.charAt(0).toUpperCase()}${name.slice(1).replace(/s$/, '')}Value${name.endsWith('s') ? 's' : ''}`;
    return [goName, value ?? null] as const;
  });
  return Object.fromEntries(names);
}

const nanos = (quantity: string): bigint => parseQuantity(quantity).nanos;

export function validateCapacity({ value, requestPolicy }: DeviceCapacity, isShared: boolean, field: Field): void {
  if (requestPolicy === undefined) return;
  const at = field.at('requestPolicy');
  if (!isShared) return at.forbidden('allowMultipleAllocations must be true');
  const { validValues = [], validRange } = requestPolicy;
  if (validValues.length > 0 && validRange !== undefined)
    at.forbidden('exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time');
  else if (validValues.length > 0) validateValidValues(requestPolicy, value, at);
  else if (validRange !== undefined) validateValidRange(requestPolicy, validRange, { value, field: at });
}

function validateValidValues(
  { default: usual, validValues }: CapacityRequestPolicy,
  value: string,
  field: Field,
): void {
  if (usual === undefined) return field.at('default').required('required when validValues is defined');
  const at = field.at('validValues');
  const values = validValues ?? [];
  for (const [index, option] of values.entries())
    if (index > 0 && nanos(values[index - 1]!) > nanos(option))
      at.item(index).invalid(option, 'values must be sorted in ascending order');
  validateList(values, at, {
    max: MAX_VALID_VALUES,
    item(option, place) {
      if (nanos(option) > nanos(value)) place.invalid(option, `option is larger than capacity value: ${value}`);
    },
    key: (option) => String(nanos(option)),
  });
  if (!values.some((option) => nanos(option) === nanos(usual)))
    at.invalid(usual, 'default value is not valid according to the requestPolicy');
}

function validateValidRange(
  { default: usual }: CapacityRequestPolicy,
  { min, max, step }: CapacityRequestPolicyRange,
  { value, field }: { readonly value: string; readonly field: Field },
): void {
  if (usual === undefined) return field.at('default').required('required when validRange is defined');
  const at = field.at('validRange');
  if (min === undefined) return at.at('min').required('required when validRange is defined');
  if (nanos(min) > nanos(value)) at.at('min').invalid(min, `min is larger than capacity value: ${value}`);
  if (nanos(usual) < nanos(min)) at.at('min').invalid(usual, `default is less than min: ${min}`);
  if (max !== undefined) {
    if (nanos(min) > nanos(max)) at.at('max').invalid(min, `min is larger than max: ${max}`);
    if (nanos(max) > nanos(value)) at.at('max').invalid(max, `max is larger than capacity value: ${value}`);
    if (nanos(usual) > nanos(max)) at.at('max').invalid(usual, `default is more than max: ${max}`);
  }
  if (step === undefined) return;
  if (nanos(step) <= 0n) return at.at('step').invalid(step, 'must be greater than zero');
  if (nanos(min) + nanos(step) > nanos(value))
    at.at('step').invalid(step, `one step ${addQuantities(min, step)} is larger than capacity value: ${value}`);
  for (const end of max === undefined ? [usual] : [usual, max])
    if ((nanos(end) - nanos(min)) % nanos(step) !== 0n)
      at.at('step').invalid(end, `value is not a multiple of a given step (${step}) from (${min})`);
}
