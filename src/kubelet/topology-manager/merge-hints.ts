/** The best hint all resources of a container can agree on. Pure. Upstream: pkg/kubelet/cm/topologymanager/policy.go. */
import { isNarrower, maskCount, type TopologyHint, type TopologyHints } from './hints.ts';

type Hint = TopologyHint;

/** One list per resource: without a wish any node will do, without a way none is good. */
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

/** The best hint; `all` is the mask of all nodes. */
export function mergeHints(lists: readonly (readonly Hint[])[], all: number): Hint {
  const wide = largestOfSmallest(lists);
  let best: { affinity: number; preferred: boolean } | undefined;
  const walk = (at: number, chosen: readonly Hint[]): void => {
    const list = lists[at];
    if (list !== undefined) {
      for (const hint of list) walk(at + 1, [...chosen, hint]);
      return;
    }
    const merged = mergeOne(chosen, all);
    if (merged.affinity !== 0 && (best === undefined || isBetter(merged, best, wide))) best = merged;
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

/** How many nodes the resource that needs most of them needs at least. */
function largestOfSmallest(lists: readonly (readonly Hint[])[]): number {
  let largest = 0;
  for (const list of lists) {
    const counts = list.flatMap(({ affinity }) => (affinity === undefined ? [] : maskCount(affinity)));
    if (counts.length > 0) largest = Math.max(largest, Math.min(...counts));
  }
  return largest;
}

/** Whether the candidate is to be taken in place of the best so far. Among those not preferred, the nearer to `wide` nodes. */
function isBetter(
  candidate: { affinity: number; preferred: boolean },
  best: { affinity: number; preferred: boolean },
  wide: number,
): boolean {
  if (candidate.preferred !== best.preferred) return candidate.preferred;
  if (candidate.preferred) return isNarrower(candidate.affinity, best.affinity);
  const [ours, theirs] = [maskCount(candidate.affinity), maskCount(best.affinity)];
  if (theirs > wide) return isNarrower(candidate.affinity, best.affinity);
  if (theirs === wide) return ours === wide && isNarrower(candidate.affinity, best.affinity);
  if (ours > wide) return false;
  return ours === theirs ? isNarrower(candidate.affinity, best.affinity) : ours > theirs;
}
