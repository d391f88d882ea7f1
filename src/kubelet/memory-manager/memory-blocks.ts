/**
 * Memory and huge pages of NUMA nodes: free amounts, and the sets of nodes that can satisfy a request. Pure.
 * Upstream: memorymanager/policy_static.go.
 */
import { isNarrower, maskCount, masksOver, nodesOf, type TopologyHint, hintsOf } from '../topology-manager/hints.ts';

/** Bytes by resource: `memory`, `hugepages-2Mi`. */
export type Bytes = Readonly<Record<string, number>>;

/** Memory of one kind that a container has. */
export interface MemoryBlock {
  readonly numaAffinity: readonly number[];
  readonly type: string;
  readonly size: number;
  /** Bytes by node; less than the size when containers reuse memory of an init container. */
  readonly amounts: Readonly<Record<string, number>>;
}

/** Allocatable and allocated memory by NUMA node. */
export interface MemoryMap {
  readonly allocatable: ReadonlyMap<number, Bytes>;
  readonly blocks: readonly MemoryBlock[];
}

/** Free bytes of a kind on a node. */
function freeOn({ allocatable, blocks }: MemoryMap, node: number, type: string): number {
  const used = blocks.reduce((sum, block) => sum + (block.type === type ? (block.amounts[node] ?? 0) : 0), 0);
  return Math.max(0, (allocatable.get(node)?.[type] ?? 0) - used);
}

/** Whether the mask would use only a part of nodes that are allocated as a group. */
function violatesGroups({ blocks }: MemoryMap, mask: number): boolean {
  return blocks.some(({ numaAffinity }) => {
    const used = numaAffinity.reduce((sum, node) => sum | (1 << node), 0);
    return used !== mask && (used & mask) !== 0;
  });
}

/** The sets of nodes that can satisfy the request. */
export function memoryHints(map: MemoryMap, request: Bytes): TopologyHint[] {
  let smallest = Number.POSITIVE_INFINITY;
  const masks: number[] = [];
  const enough = (mask: number, amountOf: (node: number, type: string) => number): boolean =>
    Object.entries(request).every(
      ([type, size]) => nodesOf(mask).reduce((sum, node) => sum + amountOf(node, type), 0) >= size,
    );
  for (const mask of masksOver([...map.allocatable.keys()])) {
    if (enough(mask, (node, type) => map.allocatable.get(node)?.[type] ?? 0))
      smallest = Math.min(smallest, maskCount(mask));
    if (!violatesGroups(map, mask) && enough(mask, (node, type) => freeOn(map, node, type))) masks.push(mask);
  }
  return hintsOf(masks, smallest);
}

/** The nodes for the request: those of the hint, or more if they do not suffice. Throws when no set suffices. */
export function chooseNodes(map: MemoryMap, request: Bytes, affinity: number | undefined): number {
  const possible = memoryHints(map, request).flatMap((hint) => hint.affinity ?? []);
  const wide = affinity === undefined ? possible : possible.filter((mask) => (mask & affinity) === affinity);
  let best: number | undefined;
  for (const mask of wide) if (best === undefined || isNarrower(mask, best)) best = mask;
  if (best !== undefined) return best;
  throw new Error(
    affinity === undefined
      ? '[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available'
      : '[memorymanager] failed to find NUMA nodes to extend the current topology hint',
  );
}

/** Takes the request from the nodes, lower ones first. */
export function takeMemory(map: MemoryMap, request: Bytes, mask: number): MemoryBlock[] {
  const numaAffinity = nodesOf(mask);
  return Object.entries(request).map(([type, size]) => {
    let left = size;
    const amounts: Record<string, number> = {};
    for (const node of numaAffinity) {
      const taken = Math.min(left, freeOn(map, node, type));
      if (taken > 0) amounts[node] = taken;
      left -= taken;
    }
    return { numaAffinity, type, size, amounts };
  });
}
