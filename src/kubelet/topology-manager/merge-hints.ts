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
  let best: Merged | undefined;
  for (const { affinity, preferred } of allMerged(lists, all)) {
    const merged = { affinity, preferred };
    if (merged.affinity !== 0 && (best === undefined || isBetter({ candidate: merged, best, wide, betterMask })))
      best = merged;
  }
  return best ?? { affinity: all, preferred: false };
}

/** What one hint of each list comes to together. */
interface Merged {
  readonly affinity: number;
  /** Each hint is preferred, and all that have an affinity have the same. */
  readonly preferred: boolean;
}

/**
 * Every distinct result of taking one hint of each list. Differs: upstream merges each combination, of which there are as many
 * as the product of the lists' lengths; combinations of the first lists with one result are continued once.
 */
function allMerged(lists: readonly (readonly Hint[])[], all: number): Iterable<Merged> {
  let states = new Map<string, Merged & { readonly isBound: boolean }>();
  states.set('', { affinity: all, preferred: true, isBound: false });
  for (const list of lists) {
    const next: typeof states = new Map();
    for (const before of states.values())
      for (const hint of list) {
        const bound = hint.affinity;
        const isSame = bound === undefined || !before.isBound || before.affinity === (bound & all);
        const state = {
          affinity: before.affinity & (bound ?? all),
          preferred: before.preferred && hint.preferred && isSame,
          isBound: before.isBound || bound !== undefined,
        };
        const key = `${state.affinity} ${state.preferred} ${state.isBound}`;
        if (!next.has(key)) next.set(key, state);
      }
    states = next;
  }
  return states.values();
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
function isBetter(comparison: { candidate: Merged; best: Merged; wide: number; betterMask: BetterMask }): boolean {
  const { candidate, best, wide, betterMask } = comparison;
  if (candidate.preferred !== best.preferred) return candidate.preferred;
  if (candidate.preferred) return betterMask(candidate.affinity, best.affinity);
  const [ours, theirs] = [maskCount(candidate.affinity), maskCount(best.affinity)];
  if (theirs > wide) return betterMask(candidate.affinity, best.affinity);
  if (theirs === wide) return ours === wide && betterMask(candidate.affinity, best.affinity);
  if (ours > wide) return false;
  return ours === theirs ? betterMask(candidate.affinity, best.affinity) : ours > theirs;
}
