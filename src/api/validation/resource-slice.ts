/** Validation of resource slices. Upstream: apis/resource/validation. */
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type { Counter, Device, DeviceAttribute, ResourceSlice, ResourceSliceSpec } from '../gen/resource-v1.ts';
import { isDns1123Subdomain } from '../names.ts';
import { validateImmutable } from './common.ts';
import { validateAttribute, validateCapacity } from './device-attributes.ts';
import {
  validateBindingConditions,
  validateDeviceQualifiedName,
  validateDeviceTaint,
  validateDriverName,
  validateLabelLikeName,
  validateList,
  validatePoolName,
} from './device-parts.ts';
import { internalForm } from './internal-form.ts';
import { validateNodeSelector } from './selectors.ts';

const MAX_DEVICES = 128;
/** The limit of devices when some have taints, consume counters or have list attributes. */
const MAX_LARGE_DEVICES = 64;
const MAX_ATTRIBUTES_AND_CAPACITIES = 32;
/** The limit of values of all attributes of a device; each item of a list counts. */
const MAX_ATTRIBUTE_VALUES = 48;
const MAX_TAINTS = 16;
const MAX_COUNTER_SETS = 8;
const MAX_COUNTERS = 32;
const MAX_CONSUMED_SETS = 2;
/** The part of an attribute's or capacity's name that paths show (a domain, a slash, an identifier). */
const MAX_SHOWN_NAME = 63 + 1 + 32;

/** Validates a slice; `old` is set on updates. */
export function validateResourceSlice(slice: ResourceSlice, field: Field, old?: ResourceSlice): void {
  const at = field.at('spec');
  const { spec } = slice;
  validateDriverName(spec?.driver, at.at('driver'));
  validatePool(spec?.pool, at.at('pool'));
  if (old !== undefined) {
    validateImmutable(spec?.pool?.name, old.spec?.pool?.name, at.at('pool').at('name'));
    validateImmutable(spec?.driver, old.spec?.driver, at.at('driver'));
    validateImmutable(spec?.nodeName, old.spec?.nodeName, at.at('nodeName'));
  }
  validateNodes(spec, at);
  if (spec?.sharedCounters !== undefined && spec.devices !== undefined)
    at.invalid('', 'only one of `sharedCounters` or `devices` is allowed');
  const before = new Map((old?.spec?.devices ?? []).map((device) => [device.name, device]));
  validateList(spec?.devices, at.at('devices'), {
    max: spec?.devices?.some(isLarge) === true ? MAX_LARGE_DEVICES : MAX_DEVICES,
    item(device, place) {
      validateDevice(device, before.get(device.name), place);
      validateDeviceNodes(device, spec?.perDeviceNodeSelection === true, place);
      validateBindingConditions(device, place);
    },
    key: ({ name }) => name ?? '',
  });
  validateList(spec?.sharedCounters, at.at('sharedCounters'), {
    max: MAX_COUNTER_SETS,
    item({ name, counters }, place) {
      validateCounterSetName(name, place.at('name'));
      validateCounters(counters, place.at('counters'));
    },
    key: ({ name }) => name ?? '',
  });
}

function validatePool(pool: ResourceSliceSpec['pool'] | undefined, field: Field): void {
  validatePoolName(pool?.name, field.at('name'));
  const { resourceSliceCount = 0, generation = 0 } = pool ?? {};
  if (resourceSliceCount <= 0) field.at('resourceSliceCount').invalid(resourceSliceCount, 'must be greater than zero');
  if (generation < 0) field.at('generation').invalid(generation, 'must be greater than or equal to zero');
}

function validateNodes(spec: ResourceSliceSpec | undefined, field: Field): void {
  const ways = ['nodeName', 'nodeSelector', 'allNodes', 'perDeviceNodeSelection'] as const;
  const taken = ways.filter((way) => spec?.[way] !== undefined && spec[way] !== '' && spec[way] !== false);
  if (spec?.nodeName === '') field.at('nodeName').invalid('', 'must be either unset or set to a non-empty string');
  else if (spec?.nodeName !== undefined)
    field.at('nodeName').complain(spec.nodeName, isDns1123Subdomain(spec.nodeName));
  if (spec?.nodeSelector !== undefined) {
    const terms = spec.nodeSelector.nodeSelectorTerms ?? [];
    validateNodeSelector(spec.nodeSelector, field.at('nodeSelector'));
    if (terms.length !== 1) {
      const shown = spec.nodeSelector.nodeSelectorTerms?.map((term) => internalForm(term, 'core.v1.NodeSelectorTerm'));
      field
        .at('nodeSelector')
        .at('nodeSelectorTerms')
        .invalid(shown ?? null, 'must have exactly one node selector term');
    }
  }
  for (const flag of ['allNodes', 'perDeviceNodeSelection'] as const)
    if (spec?.[flag] === false) field.at(flag).invalid(false, 'must be either unset or set to true');
  const text = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';
  if (taken.length === 0) field.required(text);
  else if (taken.length > 1) field.invalid(listed(taken), `${text}, but multiple fields are set`);
}

function listed(names: readonly string[]): string {
  return `{${names.map((name) => `\`${name}\``).join(', ')}}`;
}

function isLarge({ taints = [], consumesCounters = [], attributes = {} }: Device): boolean {
  const isList = ({ bools, ints, strings, versions }: DeviceAttribute): boolean =>
    (bools ?? ints ?? strings ?? versions) !== undefined;
  return taints.length > 0 || consumesCounters.length > 0 || Object.values(attributes).some(isList);
}

/** A list counts as many values as it has items, any other value as one. */
function countValues({ bools = [], ints = [], strings = [], versions = [] }: DeviceAttribute): number {
  return Math.max(1, bools.length + ints.length + strings.length + versions.length);
}

function validateDevice(device: Device, old: Device | undefined, field: Field): void {
  validateLabelLikeName(device.name, field.at('name'));
  const { attributes = {}, capacity = {}, taints } = device;
  const count = Object.keys(attributes).length + Object.keys(capacity).length;
  if (count > MAX_ATTRIBUTES_AND_CAPACITIES)
    field.invalid(
      count,
      `the total number of attributes and capacities must not exceed ${MAX_ATTRIBUTES_AND_CAPACITIES}`,
    );
  const values = Object.values(attributes).reduce((sum, attribute) => sum + countValues(attribute), 0);
  if (values > MAX_ATTRIBUTE_VALUES)
    field.invalid(values, `the total number of attribute values must not exceed ${MAX_ATTRIBUTE_VALUES}`);
  // As upstream, errors of names are reported at the map, errors of values at their key.
  for (const [name, attribute] of Object.entries(attributes)) {
    validateDeviceQualifiedName(name, field.at('attributes'));
    validateAttribute(attribute, field.at('attributes').key(shortened(name, MAX_SHOWN_NAME)));
  }
  for (const [name, value] of Object.entries(capacity)) {
    validateDeviceQualifiedName(name, field.at('capacity'));
    const at = field.at('capacity').key(shortened(name, MAX_SHOWN_NAME));
    validateCapacity(value, device.allowMultipleAllocations === true, at);
  }
  if (!deepEqual(old?.taints ?? [], taints ?? []))
    validateList(taints, field.at('taints'), { max: MAX_TAINTS, item: validateDeviceTaint });
  validateList(device.consumesCounters, field.at('consumesCounters'), {
    max: MAX_CONSUMED_SETS,
    item({ counterSet, counters }, at) {
      validateCounterSetName(counterSet, at.at('counterSet'));
      validateCounters(counters, at.at('counters'));
    },
    key: ({ counterSet }) => counterSet ?? '',
  });
}

function validateDeviceNodes(device: Device, isPerDevice: boolean, field: Field): void {
  const { nodeName, nodeSelector, allNodes } = device;
  const ways = ['nodeName', 'nodeSelector', 'allNodes'] as const;
  if (!isPerDevice) {
    if (ways.some((way) => device[way] !== undefined))
      field.invalid(
        null,
        '`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec',
      );
    return;
  }
  if (nodeName === '') field.at('nodeName').invalid('', 'must not be empty');
  else if (nodeName !== undefined) field.at('nodeName').complain(nodeName, isDns1123Subdomain(nodeName));
  if (nodeSelector !== undefined) validateNodeSelector(nodeSelector, field.at('nodeSelector'));
  if (allNodes === false) field.at('allNodes').invalid(false, 'must be either unset or set to true');
  const taken = ways.filter((way) => device[way] !== undefined && device[way] !== '' && device[way] !== false);
  const text =
    'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec';
  if (taken.length === 0) field.required(text);
  else if (taken.length > 1) field.invalid(listed(taken), text);
}

/** As upstream, an empty name of a counter set is required, while other empty names are invalid. */
function validateCounterSetName(name: string | undefined, field: Field): void {
  if ((name ?? '') === '') field.required();
  else validateLabelLikeName(name, field);
}

/** A key as paths show it: the middle of a long key is omitted. */
function shortened(key: string, max: number): string {
  if (key.length <= max) return key;
  const left = max - '...'.length;
  return `${key.slice(0, Math.ceil(left / 2))}...${key.slice(key.length - Math.floor(left / 2))}`;
}

function validateCounters(counters: Readonly<Record<string, Counter>> | undefined, field: Field): void {
  const names = Object.keys(counters ?? {});
  if (names.length === 0) field.required();
  else if (names.length > MAX_COUNTERS) field.tooMany(names.length, MAX_COUNTERS);
  else for (const name of names) validateLabelLikeName(name, field);
}
