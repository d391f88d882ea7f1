/** Counts of matching pods by topology key and value. Upstream: topologyToMatchedTermCount. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import type { NodeInfo, Snapshot } from '../../cache/node-info.ts';
import type { NodeCounts } from '../../framework/node-counts.ts';
import type { TopologyTallies } from '../../framework/topology-tallies.ts';
import type { AffinityTerm } from './affinity-terms.ts';
import { sumOfValues } from './affinity-scores.ts';

/** Matching pods by topology value. The memory shares it: only copies are changed. */
interface ValueCounts {
  readonly topologyKey: string;
  readonly values: ReadonlyMap<string, number>;
}

/** Matching pods by topology value; several lists may have the same topology key. */
export type TopologyCounts = ValueCounts[];

export function addToCount(counts: TopologyCounts, index: number, { node, by }: { node: NodeInfo; by: number }): void {
  const list = counts[index] as ValueCounts;
  const value = node.node.metadata.labels?.[list.topologyKey];
  if (value === undefined) return;
  // Only copies made by `cloneState` come here.
  (list.values as Map<string, number>).set(value, (list.values.get(value) ?? 0) + by);
}

/** The index of the list that a term of another pod changes. */
export function indexFor(counts: TopologyCounts, { topologyKey }: AffinityTerm): number {
  const known = counts.findIndex((list) => list.topologyKey === topologyKey);
  return known === -1 ? counts.push({ topologyKey, values: new Map() }) - 1 : known;
}

export function countAt({ topologyKey, values }: ValueCounts, { node }: NodeInfo): number {
  const value = node.metadata.labels?.[topologyKey];
  return value === undefined ? 0 : (values.get(value) ?? 0);
}

/** Running pods that match all terms, by the value of one topology key. */
export function countMatching(
  terms: readonly AffinityTerm[],
  topologyKey: string,
  { snapshot, counts, tallies }: { snapshot: Snapshot; counts: NodeCounts; tallies: TopologyTallies },
): ValueCounts {
  const keys = terms.map(({ key }) => key);
  const matches = (other: Stored<Pod>): boolean => terms.every((term) => term.matches(other));
  const count = counterOf(counts, keys, matches);
  const valueOf = ({ node }: NodeInfo): string | undefined => node.metadata.labels?.[topologyKey];
  if (!keys.includes(undefined))
    return { topologyKey, values: tallies.of({ key: `${topologyKey} ${keys.join(' & ')}`, valueOf, count }, snapshot) };
  const values = new Map<string, number>();
  for (const node of snapshot.nodes) {
    const value = valueOf(node);
    const by = value === undefined ? 0 : count(node);
    if (value !== undefined && by > 0) values.set(value, (values.get(value) ?? 0) + by);
  }
  return { topologyKey, values };
}

/** A counter that keeps its results, unless they depend on namespaces' labels. */
function counterOf(
  counts: NodeCounts,
  keys: readonly (string | undefined)[],
  matches: (pod: Stored<Pod>) => boolean,
): (node: NodeInfo) => number {
  if (!keys.includes(undefined)) return counts.of(keys.join(' & '), matches);
  return (node) =>
    node.pods
      .values()
      .filter(matches)
      .reduce((n) => n + 1, 0);
}

export function copyCounts(counts: TopologyCounts): TopologyCounts {
  return counts.map(({ topologyKey, values }) => ({ topologyKey, values: new Map(values) }));
}

/** A copy with one list per topology key, so that positive and negative terms are summed. */
export function mergeCounts(counts: TopologyCounts): TopologyCounts {
  return sumOfValues(counts.map(({ topologyKey, values }) => ({ topologyKey, weight: 1, values })));
}
