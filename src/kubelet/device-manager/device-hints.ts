/**
 * Topology hints of devices, and the choice of devices by affinity. Pure. Upstream: devicemanager/topology_hints.go
 * and filterByAffinity.
 */
import { maskCount, maskOf, masksOver, type TopologyHint, hintsOf } from '../topology-manager/hints.ts';
import type { PluginDevice } from './device-plugin-api.ts';

/** Devices of one resource by id. */
export type Devices = ReadonlyMap<string, PluginDevice>;

/** NUMA nodes of a device as a mask; 0: it has none. */
function deviceNodes(device: PluginDevice | undefined): number {
  return maskOf((device?.topology?.nodes ?? []).map(({ ID }) => ID).filter((node) => node >= 0));
}

/** Whether any of the devices belongs to a NUMA node. */
export function haveTopology(devices: Devices): boolean {
  return [...devices.values()].some((device) => deviceNodes(device) !== 0);
}

/** Sets of NUMA nodes that can provide `request` devices; reusable devices must be included. */
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

/** Available devices by their relation to the affinity. */
export interface SortedByAffinity {
  readonly aligned: readonly string[];
  readonly unaligned: readonly string[];
  readonly withoutAffinity: readonly string[];
}

/**
 * Sorts devices. Within each group, devices of the node with the fewest come first, as upstream, so that whole nodes
 * stay free.
 */
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
