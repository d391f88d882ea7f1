/**
 * Fields of devices behind gates that are off: DRAListTypeAttributes and DRANodeAllocatableResources. They are dropped,
 * unless the slice has some already. Upstream: dropDisabledFields of registry/resource/resourceslice.
 */
import type { DeviceAttribute } from '../../../api/gen/resource-v1.ts';
import type { KubernetesObject } from '../../../api/object.ts';

interface DeviceFields {
  attributes?: Readonly<Record<string, DeviceAttribute>>;
  nodeAllocatableResourceMappings?: object;
}

interface Device extends DeviceFields {
  /** The fields of a device in v1beta1. */
  readonly basic?: DeviceFields;
}

type Slice = KubernetesObject & { spec?: { readonly devices?: readonly Device[] } };

const LISTS = ['bools', 'ints', 'strings', 'versions'] as const;

export function dropGatedDeviceFields(draft: Slice, old?: Slice): void {
  const devices = draft.spec?.devices ?? [];
  const before = (old?.spec?.devices ?? []).flatMap(fieldsOf);
  const drops = {
    lists: devices.flatMap(fieldsOf).some(hasLists) && !before.some(hasLists),
    mappings: devices.flatMap(fieldsOf).some(hasMappings) && !before.some(hasMappings),
  };
  if (!drops.lists && !drops.mappings) return;
  const without = <T extends DeviceFields>(fields: T): T => {
    const kept = { ...fields };
    if (drops.mappings) delete kept.nodeAllocatableResourceMappings;
    if (drops.lists && fields.attributes !== undefined) kept.attributes = withoutLists(fields.attributes);
    return kept;
  };
  const mapped = devices.map((device) => {
    const { basic } = device;
    return basic === undefined ? without(device) : { ...without(device), basic: without(basic) };
  });
  draft.spec = { ...draft.spec, devices: mapped };
}

function fieldsOf(device: Device): readonly DeviceFields[] {
  return device.basic === undefined ? [device] : [device, device.basic];
}

function hasLists({ attributes }: DeviceFields): boolean {
  return Object.values(attributes ?? {}).some((attribute) => LISTS.some((name) => attribute[name] !== undefined));
}

function hasMappings({ nodeAllocatableResourceMappings }: DeviceFields): boolean {
  return nodeAllocatableResourceMappings !== undefined;
}

function withoutLists(attributes: Readonly<Record<string, DeviceAttribute>>): Record<string, DeviceAttribute> {
  const single = ({ bools: _b, ints: _i, strings: _s, versions: _v, ...kept }: DeviceAttribute): DeviceAttribute =>
    kept;
  return Object.fromEntries(Object.entries(attributes).map(([name, attribute]) => [name, single(attribute)]));
}
