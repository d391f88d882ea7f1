/**
 * Sets of NUMA nodes as bit masks, and topology hints. Pure. Upstream: pkg/kubelet/cm/topologymanager (TopologyHint)
 * and its bitmask package.
 */
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { AdmissionReason } from '../event-reasons.ts';

/** One way to satisfy a request. */
export interface TopologyHint {
  /** Bit n is NUMA node n; undefined: any. */
  readonly affinity: number | undefined;
  readonly preferred: boolean;
}

/** Hints by resource. No list: any nodes do; an empty list: the request cannot be satisfied. */
export type TopologyHints = Readonly<Record<string, readonly TopologyHint[] | undefined>>;

/** No preference and no affinity. */
export const ANY_NODE: TopologyHint = { affinity: undefined, preferred: true };

/** A manager of resources that belong to NUMA nodes. */
export interface HintProvider {
  topologyHints(pod: Pod, container: Container): TopologyHints;
  /** The hints of a pod as a whole. */
  podTopologyHints(pod: Pod): TopologyHints;
  /**
   * Allocates what the container requests, from the affinity if possible. Rejects with an AllocationError or another
   * failure.
   */
  allocate(pod: Pod, container: Container, hint: TopologyHint): Promise<void> | void;
}

/** Hints for these sets of nodes; preferred are those with as few nodes as the request needs on an empty machine. */
export function hintsOf(masks: readonly number[], fewestNodes: number): TopologyHint[] {
  return masks.map((affinity) => ({ affinity, preferred: maskCount(affinity) === fewestNodes }));
}

/** Why a pod cannot be admitted, with the reason for its status. */
export class AllocationError extends Error {
  readonly reason: AdmissionReason;
  constructor(reason: AdmissionReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AllocationError';
    this.reason = reason;
  }
}

/** Number of nodes in a mask. */
export function maskCount(mask: number): number {
  let count = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) count++;
  return count;
}

/** The mask of these nodes. */
export function maskOf(nodes: Iterable<number>): number {
  let mask = 0;
  for (const node of nodes) mask |= 1 << node;
  return mask;
}

/** The nodes of a mask, ascending. */
export function nodesOf(mask: number): number[] {
  const nodes: number[] = [];
  for (let node = 0; node < 31; node++) if ((mask & (1 << node)) !== 0) nodes.push(node);
  return nodes;
}

/** Every non-empty set of the nodes, small sets first, then by number. */
export function masksOver(nodes: readonly number[]): number[] {
  const masks: number[] = [];
  for (let bits = 1; bits < 1 << nodes.length; bits++)
    masks.push(maskOf(nodes.filter((_, at) => (bits & (1 << at)) !== 0)));
  return masks.sort((a, b) => maskCount(a) - maskCount(b) || a - b);
}

/** Whether `a` is the better fit: fewer nodes, then the lower ones. Upstream: IsNarrowerThan. */
export function isNarrower(a: number, b: number): boolean {
  const [countA, countB] = [maskCount(a), maskCount(b)];
  return countA === countB ? a < b : countA < countB;
}
