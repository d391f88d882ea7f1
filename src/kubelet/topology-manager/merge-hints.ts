/**
 * Merges the hints of all resources of a container into the best common one. Pure. Upstream:
 * pkg/kubelet/cm/topologymanager/policy.go.
 */
import { isNarrower, maskCount, nodesOf, type TopologyHint, type TopologyHints } from './hints.ts';
import { smallest } from '../../base/lists.ts';

type Hint = TopologyHint;

/** One list per resource: without hints any node does, with an empty list none is acceptable. */
export function hintLists(providers: readonly TopologyHints[]): Hint[][] {
  const lists: Hint[][] = [];
  for (const hints of providers) {
    const entries = Object.values(hints);
    if (entries.length === 0) lists.push([{ affinity: undefined, preferred: true }]);
    for (const list of entries) {
      if (list === undefined) lists.push([{ affinity: undefined, preferred: true }]);
      else lists.push(list.length === 0 ? [{ affinity: undefined, preferred: false }] : [...list]);
    }
  }
  return lists;
}

/** Whether the first of two masks is better. */
export type BetterMask = (a: number, b: number) => boolean;

/**
 * Prefers the narrower mask; among equally wide ones that with the shorter distances between its nodes, then the
 * lower one. `distances` is by node and node. Upstream: NUMAInfo.Closest.
 */
export function closestBy(distances: ReadonlyMap<number, ReadonlyMap<number, number>>): BetterMask {
  const average = (mask: number): number => {
    const nodes = nodesOf(mask);
    const all = nodes.flatMap((from) => nodes.map((to) => distances.get(from)?.get(to) ?? 0));
    return all.length === 0 ? 0 : all.reduce((sum, each) => sum + each, 0) / all.length;
  };
  return (a, b) => {
    if (maskCount(a) !== maskCount(b)) return isNarrower(a, b);
    const [ours, theirs] = [average(a), average(b)];
    return ours === theirs ? a < b : ours < theirs;
  };
}

/** The best hint; `all` is the mask of all nodes. */
export function mergeHints(
  lists: readonly (readonly Hint[])[],
  all: number,
  betterMask: BetterMask = isNarrower,
): Hint {
  const wide = largestOfSmallest(lists);
  let best: { affinity: number; preferred: boolean } | undefined;
  const walk = (at: number, chosen: readonly Hint[]): void => {
    const list = lists[at];
    if (list !== undefined) {
      for (const hint of list) walk(at + 1, [...chosen, hint]);
      return;
    }
    const merged = mergeOne(chosen, all);
    if (merged.affinity !== 0 && (best === undefined || isBetter({ candidate: merged, best, wide, betterMask })))
      best = merged;
  };
  walk(0, []);
  return best ?? { affinity: all, preferred: false };
}

function mergeOne(hints: readonly Hint[], all: number): { affinity: number; preferred: boolean } {
  const bound = hints.flatMap(({ affinity }) => affinity ?? []);
  return {
    affinity: bound.reduce((mask, each) => mask & each, all),
    preferred: hints.every((hint) => hint.preferred) && bound.every((each) => each === bound[0]),
  };
}

/** The largest of the resources' minimum numbers of nodes. */
function largestOfSmallest(lists: readonly (readonly Hint[])[]): number {
  let most = 0;
  for (const list of lists) {
    const counts = list.flatMap(({ affinity }) => (affinity === undefined ? [] : maskCount(affinity)));
    if (counts.length > 0) most = Math.max(most, smallest(counts));
  }
  return most;
}

/**
 * Whether the candidate is better than the best so far. Among hints that are not preferred, the one nearer to `wide`
 * nodes is.
 */
function isBetter(comparison: {
  candidate: { affinity: number; preferred: boolean };
  best: { affinity: number; preferred: boolean };
  wide: number;
  betterMask: BetterMask;
}): boolean {
  const { candidate, best, wide, betterMask } = comparison;
  if (candidate.preferred !== best.preferred) return candidate.preferred;
  if (candidate.preferred) return betterMask(candidate.affinity, best.affinity);
  const [ours, theirs] = [maskCount(candidate.affinity), maskCount(best.affinity)];
  if (theirs > wide) return betterMask(candidate.affinity, best.affinity);
  if (theirs === wide) return ours === wide && betterMask(candidate.affinity, best.affinity);
  if (ours > wide) return false;
  return ours === theirs ? betterMask(candidate.affinity, best.affinity) : ours > theirs;
}
