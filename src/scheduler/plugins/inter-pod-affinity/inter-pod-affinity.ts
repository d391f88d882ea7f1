/**
 * InterPodAffinity: required terms of the pod, and required anti-affinity of pods that run already, filter; preferred
 * terms of both sides score. Matching pods are counted by topology value; the sums are kept up to date from the nodes that
 * changed since the last cycle. Upstream: plugins/interpodaffinity. Differs: `matchLabelKeys` are honoured here, too, not only by the
 * API server.
 */
import type { Node, Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { deepEqual } from '../../../base/equal.ts';
import type { NodeInfo, Snapshot } from '../../cache/node-info.ts';
import { defaultArgs, type InterPodAffinityArgs } from '../../config/plugin-args.ts';
import { createNodeCounts, type NodeCounts } from '../../framework/node-counts.ts';
import type { CycleState, SchedulerPlugin } from '../../framework/plugin.ts';
import { unresolvable, unschedulable } from '../../framework/status.ts';
import { TermIndex, type IndexedTerm } from '../../framework/term-index.ts';
import { createTopologyTallies, type TopologyTallies } from '../../framework/topology-tallies.ts';
import {
  createTermReader,
  type AffinityTerm,
  type NamespaceLabels,
  type PodTerms,
  type TermReader,
} from './affinity-terms.ts';
import {
  affinityScore,
  affinityScores,
  createWishIndex,
  MANY_TERMS,
  sumOfValues,
  type WeightedValues,
} from './affinity-scores.ts';
import { AffinityLacks } from './explain-affinity.ts';

const NAME = 'InterPodAffinity';
const SCORES = `${NAME}/scores`;
/** Where an explanation keeps what it found out for all nodes. */
const LACKS = `${NAME}/lacks`;
const AFFINITY = unresolvable(NAME, "node(s) didn't match pod affinity rules");
const ANTI_AFFINITY = unschedulable(NAME, "node(s) didn't match pod anti-affinity rules");
const EXISTING = unschedulable(NAME, "node(s) didn't satisfy existing pods anti-affinity rules");
const SKIP = { code: 'skip', reasons: [], plugin: NAME } as const;

/** Matching pods by topology value, shared with the memory: changed only in copies. */
interface ValueCounts {
  readonly topologyKey: string;
  readonly values: ReadonlyMap<string, number>;
}

/** Matching pods by topology value; several lists may speak of one topology key. */
type TopologyCounts = ValueCounts[];

interface Kept {
  readonly terms: PodTerms;
  /** Running pods whose anti-affinity the pod meets. */
  readonly existingAnti: TopologyCounts;
  /** Running pods that meet all affinity terms of the pod, one list per term. */
  readonly affinity: TopologyCounts;
  /** Running pods that meet an anti-affinity term of the pod, one list per term. */
  readonly antiAffinity: TopologyCounts;
}

/** Creates the plugin. */
export function createInterPodAffinity(
  namespaceLabels: NamespaceLabels,
  args: InterPodAffinityArgs = defaultArgs.interPodAffinity,
): SchedulerPlugin {
  const termsOf = createTermReader(namespaceLabels);
  const counts = createNodeCounts();
  const tallies = createTopologyTallies();
  const wishes = createWishIndex(termsOf, args);
  const prohibitions = createProhibitionIndex(termsOf);
  const countsOf = (terms: readonly AffinityTerm[], snapshot: Snapshot): TopologyCounts =>
    terms.map((term) => countMatching([term], term.topologyKey, { snapshot, counts, tallies }));
  const { attracts, frees, leaves, canMeet, moves } = createHints(termsOf);
  const kept = (state: CycleState): Kept => state.get(NAME) as Kept;
  const change = (
    state: CycleState,
    pod: Stored<Pod>,
    { other, node, by }: { other: Stored<Pod>; node: NodeInfo; by: 1 | -1 },
  ): void => {
    const { terms, existingAnti, affinity, antiAffinity } = kept(state);
    for (const term of termsOf(other).antiAffinity)
      if (term.matches(pod)) raise(existingAnti, indexFor(existingAnti, term), { node, by });
    if (terms.affinity.length > 0 && terms.affinity.every((term) => term.matches(other)))
      for (let i = 0; i < affinity.length; i++) raise(affinity, i, { node, by });
    terms.antiAffinity.forEach((term, i) => {
      if (term.matches(other)) raise(antiAffinity, i, { node, by });
    });
  };
  return {
    name: NAME,
    preFilter(state, pod, snapshot) {
      const terms = termsOf(pod);
      const existingAnti: TopologyCounts = [];
      for (const { topologyKey, term, values } of prohibitions.candidates(snapshot, pod.metadata.labels))
        if (term.matches(pod)) existingAnti.push({ topologyKey, values });
      if (existingAnti.length === 0 && terms.affinity.length === 0 && terms.antiAffinity.length === 0) return SKIP;
      state.set(NAME, {
        terms,
        existingAnti: existingAnti.length > MANY_TERMS ? mergeCounts(existingAnti) : existingAnti,
        affinity: terms.affinity.map(({ topologyKey }) =>
          countMatching(terms.affinity, topologyKey, { snapshot, counts, tallies }),
        ),
        antiAffinity: countsOf(terms.antiAffinity, snapshot),
      } satisfies Kept);
      return undefined;
    },
    filter(state, pod, node) {
      const { terms, existingAnti, affinity, antiAffinity } = kept(state);
      if (!meetsAffinity(pod, node, { terms, affinity })) return AFFINITY;
      if (antiAffinity.some((list) => countAt(list, node) > 0)) return ANTI_AFFINITY;
      return existingAnti.some((list) => countAt(list, node) > 0) ? EXISTING : undefined;
    },
    explain(state, pod, node, snapshot) {
      if (!state.has(LACKS)) state.set(LACKS, new AffinityLacks(termsOf, pod, snapshot));
      return (state.get(LACKS) as AffinityLacks).of(node);
    },
    addPod: (state, pod, { other, node }) => change(state, pod, { other, node, by: 1 }),
    removePod: (state, pod, { other, node }) => change(state, pod, { other, node, by: -1 }),
    cloneState(value) {
      const { terms, existingAnti, affinity, antiAffinity } = value as Kept;
      return {
        terms,
        existingAnti: mergeCounts(existingAnti),
        affinity: copyCounts(affinity),
        antiAffinity: copyCounts(antiAffinity),
      } satisfies Kept;
    },
    preScore(state, pod, { snapshot }) {
      const scores = affinityScores(pod, snapshot, {
        termsOf,
        wishes,
        args,
        countsOf: (term) => countMatching([term], term.topologyKey, { snapshot, counts, tallies }).values,
      });
      if (scores.length === 0) return SKIP;
      state.set(SCORES, scores);
      return undefined;
    },
    score: (state, _pod, node) => affinityScore(state.get(SCORES) as readonly WeightedValues[], node),
    normalize: (_state, _pod, scores) => normalizeToSpan(scores),
    events: [
      { event: 'assigned-pod/add', hint: (pod, _old, other) => attracts(pod, other as Stored<Pod>) },
      {
        event: 'assigned-pod/update',
        hint: (pod, old, now) =>
          (attracts(pod, now as Stored<Pod>) && !attracts(pod, old as Stored<Pod>)) ||
          frees(pod, old as Stored<Pod>, now as Stored<Pod>) ||
          (leaves(pod, old as Stored<Pod>) && !attracts(pod, now as Stored<Pod>)),
      },
      {
        event: 'assigned-pod/delete',
        hint: (pod, gone) => frees(pod, gone as Stored<Pod>) || leaves(pod, gone as Stored<Pod>),
      },
      { event: 'node/add', hint: (pod, _old, node) => canMeet(pod, node as Stored<Node>) },
      {
        event: 'node/update-label',
        hint: (pod, old, node) =>
          canMeet(pod, node as Stored<Node>) || moves(pod, old as Stored<Node>, node as Stored<Node>),
      },
      { event: 'namespace/update' },
      {
        event: 'pod/update',
        hint: (pod, old) => !deepEqual((old as Stored<Pod> | undefined)?.metadata.labels, pod.metadata.labels),
      },
    ],
  };
}

/** What a change of another pod may mean to a waiting one. */
interface Hints {
  /** The other meets all affinity terms: only such pods count. */
  attracts(pod: Stored<Pod>, other: Stored<Pod>): boolean;
  /** A term of anti-affinity between the two holds no longer, be it because the other is gone (no `now`). */
  frees(pod: Stored<Pod>, old: Stored<Pod>, now?: Stored<Pod>): boolean;
  /** With the last of its group the pod, which belongs to it, becomes the first: it may go anywhere. */
  leaves(pod: Stored<Pod>, gone: Stored<Pod>): boolean;
  /** The node is of all the topologies in which the pod wants company. */
  canMeet(pod: Stored<Pod>, node: Stored<Node>): boolean;
  /** The node, with the pods on it, left a topology that the pod's terms speak of: others of it may be free, or a group without its first. */
  moves(pod: Stored<Pod>, old: Stored<Node>, now: Stored<Node>): boolean;
}

function createHints(termsOf: TermReader): Hints {
  const attracts: Hints['attracts'] = (pod, other) => {
    const { affinity } = termsOf(pod);
    return affinity.length > 0 && affinity.every((term) => term.matches(other));
  };
  const isRepelled = (pod: Stored<Pod>, by: Stored<Pod>): boolean =>
    termsOf(by).antiAffinity.some((term) => term.matches(pod));
  return {
    attracts,
    frees: (pod, old, now) =>
      termsOf(pod).antiAffinity.some((term) => term.matches(old) && !(now !== undefined && term.matches(now))) ||
      (isRepelled(pod, old) && !(now !== undefined && isRepelled(pod, now))),
    leaves: (pod, gone) => attracts(pod, gone) && attracts(pod, pod),
    canMeet: (pod, { metadata }) =>
      termsOf(pod).affinity.every(({ topologyKey }) => metadata.labels?.[topologyKey] !== undefined),
    moves(pod, { metadata: old }, { metadata: now }) {
      const { affinity, antiAffinity } = termsOf(pod);
      return [...affinity, ...antiAffinity].some(({ topologyKey }) => {
        const before = old.labels?.[topologyKey];
        return before !== undefined && before !== now.labels?.[topologyKey];
      });
    },
  };
}

function raise(counts: TopologyCounts, index: number, { node, by }: { node: NodeInfo; by: number }): void {
  const list = counts[index] as ValueCounts;
  const value = node.node.metadata.labels?.[list.topologyKey];
  if (value === undefined) return;
  // Only copies get here, made by `cloneState`.
  (list.values as Map<string, number>).set(value, (list.values.get(value) ?? 0) + by);
}

/** The list to change for a term of another pod. */
function indexFor(counts: TopologyCounts, { topologyKey }: AffinityTerm): number {
  const known = counts.findIndex((list) => list.topologyKey === topologyKey);
  return known === -1 ? counts.push({ topologyKey, values: new Map() }) - 1 : known;
}

function countAt({ topologyKey, values }: ValueCounts, { node }: NodeInfo): number {
  const value = node.metadata.labels?.[topologyKey];
  return value === undefined ? 0 : (values.get(value) ?? 0);
}

/** Anti-affinity terms of running pods. */
function createProhibitionIndex(termsOf: TermReader): TermIndex<AffinityTerm> {
  return new TermIndex({
    podsOn: (node) => node.podsWithRequiredAntiAffinity,
    *termsOf(other, uid): Iterable<IndexedTerm<AffinityTerm>> {
      for (const term of termsOf(other).antiAffinity) {
        const { topologyKey, selector, key } = term;
        yield { id: `${topologyKey}|${key ?? `pod ${uid}`}`, topologyKey, selector, term };
      }
    },
  });
}

/** Running pods that match all terms together, by the value of one topology key. */
function countMatching(
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

/** A remembering counter, unless the answer depends on namespaces. */
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

function meetsAffinity(
  pod: Stored<Pod>,
  node: NodeInfo,
  { terms, affinity }: Pick<Kept, 'terms' | 'affinity'>,
): boolean {
  if (terms.affinity.length === 0) return true;
  if (terms.affinity.some((term) => node.node.metadata.labels?.[term.topologyKey] === undefined)) return false;
  if (affinity.every((list) => countAt(list, node) > 0)) return true;
  // The first of a group that wants to be together may go anywhere.
  const anyMatch = affinity.some(({ values }) => values.values().some((count) => count > 0));
  return !anyMatch && terms.affinity.every((term) => term.matches(pod));
}

function copyCounts(counts: TopologyCounts): TopologyCounts {
  return counts.map(({ topologyKey, values }) => ({ topologyKey, values: new Map(values) }));
}

/** A copy with one list per topology key: what one term raises another may lower. */
function mergeCounts(counts: TopologyCounts): TopologyCounts {
  return sumOfValues(counts.map(({ topologyKey, values }) => ({ topologyKey, weight: 1, values })));
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
