/** Which NUMA nodes devices can come from, and which devices are taken. Pure. Upstream: devicemanager/topology_hints.go and filterByAffinity. */
import { maskCount, maskOf, masksOver, type TopologyHint, hintsOf } from '../topology-manager/hints.ts';
import type { PluginDevice } from './device-plugin-api.ts';

/** Devices of one resource by id. */
export type Devices = ReadonlyMap<string, PluginDevice>;

/** NUMA nodes of a device as a mask; 0: it has none. */
function deviceNodes(device: PluginDevice | undefined): number {
  return maskOf((device?.topology?.nodes ?? []).map(({ ID }) => ID).filter((node) => node >= 0));
}

/** Whether a node matters to any of the devices. */
export function haveTopology(devices: Devices): boolean {
  return [...devices.values()].some((device) => deviceNodes(device) !== 0);
}

/** Ways to give `request` devices out of the available ones; those to be used again must be among them. */
export function deviceHints(input: {
  readonly devices: Devices;
  readonly available: ReadonlySet<string>;
  readonly reusable: ReadonlySet<string>;
  readonly request: number;
  readonly numaNodes: readonly number[];
}): TopologyHint[] {
  const { devices, available, reusable, request, numaNodes } = input;
  let smallest = numaNodes.length;
  const masks: number[] = [];
  const within = (ids: Iterable<string>, mask: number): number =>
    [...ids].filter((id) => (deviceNodes(devices.get(id)) & mask) !== 0).length;
  for (const mask of masksOver(numaNodes)) {
    if (within(devices.keys(), mask) >= request) smallest = Math.min(smallest, maskCount(mask));
    const bound = [...reusable].filter((id) => deviceNodes(devices.get(id)) !== 0);
    if (within(bound, mask) < bound.length) continue;
    if (bound.length + within(available, mask) >= request) masks.push(mask);
  }
  return hintsOf(masks, smallest);
}

/** Available devices by how they lie to the affinity. */
export interface SortedByAffinity {
  readonly aligned: readonly string[];
  readonly unaligned: readonly string[];
  readonly withoutAffinity: readonly string[];
}

/** Sorts; within each part devices of the node that has fewest of them come first, as upstream's, to keep whole nodes free. */
export function sortByAffinity(
  devices: Devices,
  available: Iterable<string>,
  affinity: number | undefined,
): SortedByAffinity {
  const ids = [...available].sort();
  const withoutAffinity = ids.filter((id) => deviceNodes(devices.get(id)) === 0);
  const withNodes = ids.filter((id) => deviceNodes(devices.get(id)) !== 0);
  if (affinity === undefined) return { aligned: [], unaligned: [], withoutAffinity: ids };
  const isAligned = (id: string): boolean => (deviceNodes(devices.get(id)) & affinity) !== 0;
  return { aligned: withNodes.filter(isAligned), unaligned: withNodes.filter((id) => !isAligned(id)), withoutAffinity };
}
