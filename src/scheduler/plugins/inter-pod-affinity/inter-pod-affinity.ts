/**
 * InterPodAffinity: required terms of the pod, and required anti-affinity of pods that run already, filter; preferred
 * terms of both sides score. Matching pods are counted by topology value once per cycle; counts per node are remembered
 * between cycles. Upstream: plugins/interpodaffinity. Differs: `matchLabelKeys` are honoured here, too, not only by the
 * API server.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { NodeInfo, Snapshot } from '../../cache/node-info.ts';
import { defaultArgs, type InterPodAffinityArgs } from '../../config/plugin-args.ts';
import { createNodeCounts, type NodeCounts } from '../../framework/node-counts.ts';
import type { CycleState, SchedulerPlugin } from '../../framework/plugin.ts';
import { unresolvable, unschedulable } from '../../framework/status.ts';
import { createTermReader, type AffinityTerm, type NamespaceLabels, type PodTerms } from './affinity-terms.ts';
import { affinityScores, type TopologyScores } from './affinity-scores.ts';

const NAME = 'InterPodAffinity';
const SCORES = `${NAME}/scores`;
const SKIP = { code: 'skip', reasons: [], plugin: NAME } as const;

/** Matching pods by topology key and value. */
type TopologyCounts = Map<string, Map<string, number>>;

interface Kept {
  readonly terms: PodTerms;
  /** Running pods whose anti-affinity the pod meets. */
  readonly existingAnti: TopologyCounts;
  /** Running pods that meet all affinity terms of the pod. */
  readonly affinity: TopologyCounts;
  /** Running pods that meet an anti-affinity term of the pod. */
  readonly antiAffinity: TopologyCounts;
}

/** Creates the plugin. */
export function createInterPodAffinity(
  namespaceLabels: NamespaceLabels,
  args: InterPodAffinityArgs = defaultArgs.interPodAffinity,
): SchedulerPlugin {
  const termsOf = createTermReader(namespaceLabels);
  const counts = createNodeCounts();
  const kept = (state: CycleState): Kept => state.get(NAME) as Kept;
  const change = (
    state: CycleState,
    pod: Pod,
    { other, node, by }: { other: Pod; node: NodeInfo; by: 1 | -1 },
  ): void => {
    const { terms, existingAnti, affinity, antiAffinity } = kept(state);
    for (const term of termsOf(other).antiAffinity) if (term.matches(pod)) raise(existingAnti, term, { node, by });
    if (terms.affinity.length > 0 && terms.affinity.every((term) => term.matches(other)))
      for (const term of terms.affinity) raise(affinity, term, { node, by });
    for (const term of terms.antiAffinity) if (term.matches(other)) raise(antiAffinity, term, { node, by });
  };
  return {
    name: NAME,
    preFilter(state, pod, snapshot) {
      const terms = termsOf(pod);
      const existingAnti = countExisting(pod, snapshot, termsOf);
      if (existingAnti.size === 0 && terms.affinity.length === 0 && terms.antiAffinity.length === 0) return SKIP;
      state.set(NAME, {
        terms,
        existingAnti,
        affinity: countAll(terms.affinity, snapshot, counts),
        antiAffinity: countEach(terms.antiAffinity, snapshot, counts),
      } satisfies Kept);
      return undefined;
    },
    filter(state, pod, node) {
      const { terms, existingAnti, affinity, antiAffinity } = kept(state);
      if (!meetsAffinity(pod, node, { terms, affinity }))
        return unresolvable(NAME, "node(s) didn't match pod affinity rules");
      if (terms.antiAffinity.some((term) => countAt(antiAffinity, term.topologyKey, node) > 0))
        return unschedulable(NAME, "node(s) didn't match pod anti-affinity rules");
      for (const key of existingAnti.keys())
        if (countAt(existingAnti, key, node) > 0)
          return unschedulable(NAME, "node(s) didn't satisfy existing pods anti-affinity rules");
      return undefined;
    },
    addPod: (state, pod, { other, node }) => change(state, pod, { other, node, by: 1 }),
    removePod: (state, pod, { other, node }) => change(state, pod, { other, node, by: -1 }),
    cloneState(value) {
      const { terms, existingAnti, affinity, antiAffinity } = value as Kept;
      return {
        terms,
        existingAnti: copyCounts(existingAnti),
        affinity: copyCounts(affinity),
        antiAffinity: copyCounts(antiAffinity),
      } satisfies Kept;
    },
    preScore(state, pod, { snapshot }) {
      const scores = affinityScores(pod, snapshot, { termsOf, counts, args });
      if (scores.size === 0) return SKIP;
      state.set(SCORES, scores);
      return undefined;
    },
    score(state, _pod, node) {
      let sum = 0;
      for (const [key, values] of state.get(SCORES) as TopologyScores)
        sum += values.get(node.node.metadata.labels?.[key] ?? '') ?? 0;
      return sum;
    },
    normalize: (_state, _pod, scores) => normalizeToSpan(scores),
    events: [
      { event: 'assigned-pod/add' },
      { event: 'assigned-pod/update' },
      { event: 'assigned-pod/delete' },
      { event: 'node/add' },
      { event: 'node/update-label' },
      { event: 'namespace/update' },
      { event: 'pod/update' },
    ],
  };
}

function raise(
  counts: TopologyCounts,
  { topologyKey }: AffinityTerm,
  { node, by }: { node: NodeInfo; by: number },
): void {
  const value = node.node.metadata.labels?.[topologyKey];
  if (value === undefined) return;
  let values = counts.get(topologyKey);
  if (values === undefined) counts.set(topologyKey, (values = new Map()));
  const count = (values.get(value) ?? 0) + by;
  if (count === 0) values.delete(value);
  else values.set(value, count);
}

function countAt(counts: TopologyCounts, topologyKey: string, node: NodeInfo): number {
  const value = node.node.metadata.labels?.[topologyKey];
  return value === undefined ? 0 : (counts.get(topologyKey)?.get(value) ?? 0);
}

function countExisting(pod: Pod, snapshot: Snapshot, termsOf: (pod: Pod) => PodTerms): TopologyCounts {
  const found: TopologyCounts = new Map();
  // Pods of one template ask the same: one look decides for all.
  const answers = new Map<string, boolean>();
  const meets = (term: AffinityTerm): boolean => {
    if (term.key === undefined) return term.matches(pod);
    const known = answers.get(term.key) ?? term.matches(pod);
    answers.set(term.key, known);
    return known;
  };
  for (const node of snapshot.withRequiredAntiAffinity) {
    for (const other of node.podsWithRequiredAntiAffinity.values()) {
      for (const term of termsOf(other).antiAffinity) if (meets(term)) raise(found, term, { node, by: 1 });
    }
  }
  return found;
}

/** Counts the pods that match all terms together. */
function countAll(terms: readonly AffinityTerm[], snapshot: Snapshot, counts: NodeCounts): TopologyCounts {
  const found: TopologyCounts = new Map();
  if (terms.length === 0) return found;
  const count = counterOf(
    counts,
    terms.map((t) => t.key),
    (other) => terms.every((term) => term.matches(other)),
  );
  for (const node of snapshot.nodes) {
    const by = count(node);
    if (by > 0) for (const term of terms) raise(found, term, { node, by });
  }
  return found;
}

function countEach(terms: readonly AffinityTerm[], snapshot: Snapshot, counts: NodeCounts): TopologyCounts {
  const found: TopologyCounts = new Map();
  for (const term of terms) {
    const count = counterOf(counts, [term.key], (other) => term.matches(other));
    for (const node of snapshot.nodes) {
      const by = count(node);
      if (by > 0) raise(found, term, { node, by });
    }
  }
  return found;
}

/** A remembering counter, unless the answer depends on namespaces. */
function counterOf(
  counts: NodeCounts,
  keys: readonly (string | undefined)[],
  matches: (pod: Pod) => boolean,
): (node: NodeInfo) => number {
  if (!keys.includes(undefined)) return counts.of(keys.join(' & '), matches);
  return (node) =>
    node.pods
      .values()
      .filter(matches)
      .reduce((n) => n + 1, 0);
}

function meetsAffinity(pod: Pod, node: NodeInfo, { terms, affinity }: Pick<Kept, 'terms' | 'affinity'>): boolean {
  if (terms.affinity.length === 0) return true;
  if (terms.affinity.some((term) => node.node.metadata.labels?.[term.topologyKey] === undefined)) return false;
  if (terms.affinity.every((term) => countAt(affinity, term.topologyKey, node) > 0)) return true;
  // The first of a group that wants to be together may go anywhere.
  const anyMatch = affinity.values().some((values) => values.size > 0);
  return !anyMatch && terms.affinity.every((term) => term.matches(pod));
}

function copyCounts(counts: TopologyCounts): TopologyCounts {
  return new Map([...counts].map(([key, values]) => [key, new Map(values)]));
}

/** Spreads the scores over 0 to 100. */
function normalizeToSpan(scores: Float64Array): void {
  let least = Infinity;
  let greatest = -Infinity;
  for (const score of scores) {
    least = Math.min(least, score);
    greatest = Math.max(greatest, score);
  }
  const span = greatest - least;
  for (let i = 0; i < scores.length; i++)
    scores[i] = span > 0 ? Math.floor((100 * ((scores[i] ?? 0) - least)) / span) : 0;
}
