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
  const [all, free, kept] = [devices.keys(), available, reusable].map((ids) => countByNodes(devices, ids));
  const bound = within(kept!, ~0);
  for (const mask of masksOver(numaNodes)) {
    if (within(all!, mask) >= request) smallest = Math.min(smallest, maskCount(mask));
    if (within(kept!, mask) < bound) continue;
    if (bound + within(free!, mask) >= request) masks.push(mask);
  }
  return hintsOf(masks, smallest);
}

/** The number of devices by mask of their NUMA nodes. Devices without nodes are left out. */
function countByNodes(devices: Devices, ids: Iterable<string>): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const id of ids) {
    const nodes = deviceNodes(devices.get(id));
    if (nodes !== 0) counts.set(nodes, (counts.get(nodes) ?? 0) + 1);
  }
  return counts;
}

/** The number of devices that belong to a node of the mask. */
function within(counts: ReadonlyMap<number, number>, mask: number): number {
  let count = 0;
  for (const [nodes, devices] of counts) if ((nodes & mask) !== 0) count += devices;
  return count;
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
