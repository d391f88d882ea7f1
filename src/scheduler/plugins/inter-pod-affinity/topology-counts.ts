/** Counts of matching pods by topology key and value. Upstream: topologyToMatchedTermCount. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { getOrMake } from '../../../base/get-or-make.ts';
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
  let list = counts[index] as ValueCounts;
  const value = node.node.metadata.labels?.[list.topologyKey];
  if (value === undefined) return;
  if (!ownLists.has(list)) {
    counts[index] = list = { topologyKey: list.topologyKey, values: new Map(list.values) };
    ownLists.add(list);
  }
  (list.values as Map<string, number>).set(value, (list.values.get(value) ?? 0) + by);
}

/** Lists that were copied for one state: of thousands of terms few change for a node that is tried. */
const ownLists = new WeakSet<ValueCounts>();

/** The index of the list that a term of another pod changes. */
export function indexFor(counts: TopologyCounts, { topologyKey }: AffinityTerm): number {
  const index = counts.findIndex((list) => list.topologyKey === topologyKey);
  return index === -1 ? counts.push({ topologyKey, values: new Map() }) - 1 : index;
}

export function countAt({ topologyKey, values }: ValueCounts, { node }: NodeInfo): number {
  const value = node.metadata.labels?.[topologyKey];
  return value === undefined ? 0 : (values.get(value) ?? 0);
}

/** The number of a node's pods that match all of some terms. */
interface Matching {
  /** Equal for the same pods. Undefined: the result depends on namespaces' labels and may not be kept. */
  readonly key: string | undefined;
  readonly count: (node: NodeInfo) => number;
}

/** Counts pods that match all terms. Of a pod with thousands of terms it is made once, for all topology keys. */
function matchingAll(terms: readonly AffinityTerm[], counts: NodeCounts): Matching {
  // Many terms may differ in their topology key alone.
  const different = [...new Map(terms.map((term) => [term.key ?? term, term])).values()];
  const matches = (other: Stored<Pod>): boolean => different.every((term) => term.matches(other));
  const key = jointKey(terms, different);
  if (key !== undefined) return { key, count: counts.of(key, matches) };
  const counted = new Map<NodeInfo, number>();
  const count = (node: NodeInfo): number =>
    getOrMake(counted, node, () =>
      node.pods
        .values()
        .filter(matches)
        .reduce((n) => n + 1, 0),
    );
  return { key, count };
}

const LONGEST_KEY = 2000;
const numbers = new WeakMap<readonly AffinityTerm[], string>();
let numbered = 0;

function jointKey(terms: readonly AffinityTerm[], different: readonly AffinityTerm[]): string | undefined {
  const keys = different.map(({ key }) => key);
  if (keys.includes(undefined)) return undefined;
  const text = keys.join(' & ');
  // A longer one would be part of the key of each topology.
  return text.length <= LONGEST_KEY ? text : getOrMake(numbers, terms, () => `terms ${++numbered}`);
}

interface Counting {
  readonly snapshot: Snapshot;
  readonly counts: NodeCounts;
  readonly tallies: TopologyTallies;
}

/** More topology keys would take the place of all remembered sums. */
const MANY_KEYS = 16;

/** Pods that match all terms, by the values of each topology key of the terms. */
export function countMatching(terms: readonly AffinityTerm[], { snapshot, counts, tallies }: Counting): TopologyCounts {
  if (terms.length === 0) return [];
  const { key, count } = matchingAll(terms, counts);
  const topologyKeys = [...new Set(terms.map(({ topologyKey }) => topologyKey))];
  if (key !== undefined && topologyKeys.length <= MANY_KEYS)
    return topologyKeys.map((topologyKey) => {
      const valueOf = ({ node }: NodeInfo): string | undefined => node.metadata.labels?.[topologyKey];
      return { topologyKey, values: tallies.of({ key: `${topologyKey} ${key}`, valueOf, count }, snapshot) };
    });
  const nodes = snapshot.nodes.filter((node) => count(node) > 0);
  return topologyKeys.map((topologyKey) => {
    const values = new Map<string, number>();
    for (const node of nodes) {
      const value = node.node.metadata.labels?.[topologyKey];
      if (value !== undefined) values.set(value, (values.get(value) ?? 0) + count(node));
    }
    return { topologyKey, values };
  });
}

/** Pods that match a term, by topology value, for each of a few terms of one pod. */
export function countEach(terms: readonly AffinityTerm[], counting: Counting): TopologyCounts {
  return terms.flatMap((term) => countMatching([term], counting));
}

/** A state of its own, which shares the values until they change. */
export function copyCounts(counts: TopologyCounts): TopologyCounts {
  return counts.map((list) => {
    ownLists.delete(list); // from now on it shares its values
    return { topologyKey: list.topologyKey, values: list.values };
  });
}

/** A copy with one list per topology key, so that positive and negative terms are summed. */
export function mergeCounts(counts: TopologyCounts): TopologyCounts {
  return sumOfValues(counts.map(({ topologyKey, values }) => ({ topologyKey, weight: 1, values })));
}
