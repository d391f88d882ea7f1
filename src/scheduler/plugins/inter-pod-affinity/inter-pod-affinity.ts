/**
 * InterPodAffinity: required terms of the pod, and required anti-affinity terms of running pods, filter; preferred
 * terms of both score. Matching pods are counted by topology value; the sums are updated from the nodes that changed
 * since the last cycle. Upstream: plugins/interpodaffinity. Differs: the plugin itself applies `matchLabelKeys` too,
 * not only the API server.
 */
import type { Node, Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { deepEqual } from '../../../base/equal.ts';
import { allSteps, type Steps } from '../../../base/steps.ts';
import type { NodeInfo, Snapshot } from '../../cache/node-info.ts';
import { defaultArgs, type InterPodAffinityArgs } from '../../config/plugin-args.ts';
import { createNodeCounts } from '../../framework/node-counts.ts';
import type { CycleState, SchedulerPlugin } from '../../framework/plugin.ts';
import { unresolvable, unschedulable } from '../../framework/status.ts';
import { type IndexedTerm, TermIndex } from '../../framework/term-index.ts';
import { createTopologyTallies } from '../../framework/topology-tallies.ts';
import {
  type AffinityTerm,
  createTermReader,
  type NamespaceLabels,
  type PodTerms,
  type TermReader,
} from './affinity-terms.ts';
import {
  affinityScore,
  affinityScores,
  createPreferredTermIndex,
  MANY_TERMS,
  type WeightedValues,
} from './affinity-scores.ts';
import { MANY_TERMS_OF_POD, preparingSteps, type PreparedCounts } from './prepared-counts.ts';
import { AffinityLacks } from './explain-affinity.ts';
import {
  copyCounts,
  countAt,
  countEach,
  countMatching,
  indexFor,
  mergeCounts,
  addToCount,
  type TopologyCounts,
} from './topology-counts.ts';
import { createHints } from './queueing-hints.ts';

const NAME = 'InterPodAffinity';
/** The key in the state of what was counted in steps. */
const PREPARED = `${NAME}/prepared`;
const SCORES = `${NAME}/scores`;
/** The key in the state under which an explanation keeps what it computed for all nodes. */
const LACKS = `${NAME}/lacks`;
const AFFINITY = unresolvable(NAME, "node(s) didn't match pod affinity rules");
const ANTI_AFFINITY = unschedulable(NAME, "node(s) didn't match pod anti-affinity rules");
const EXISTING = unschedulable(NAME, "node(s) didn't satisfy existing pods anti-affinity rules");
const SKIP = { code: 'skip', reasons: [], plugin: NAME } as const;

interface PreFilterState {
  readonly terms: PodTerms;
  /** The pod matches all its affinity terms. */
  readonly meetsItself: boolean;
  /** Running pods whose anti-affinity terms match the pod. */
  readonly existingAnti: TopologyCounts;
  /** Running pods that match all affinity terms of the pod, one list per topology key. */
  readonly affinity: TopologyCounts;
  /** Running pods that match an anti-affinity term of the pod, one list per term; of many terms one per topology key. */
  readonly antiAffinity: TopologyCounts;
}

export function createInterPodAffinity(
  namespaceLabels: NamespaceLabels,
  args: InterPodAffinityArgs = defaultArgs.interPodAffinity,
): SchedulerPlugin {
  const termsOf = createTermReader(namespaceLabels);
  const counts = createNodeCounts();
  const tallies = createTopologyTallies();
  const preferredTerms = createPreferredTermIndex(termsOf, args);
  const prohibitions = createProhibitionIndex(termsOf);
  const countsOf = (terms: readonly AffinityTerm[], snapshot: Snapshot): TopologyCounts =>
    countEach(terms, { snapshot, counts, tallies });
  const { attracts, frees, leaves, canMeet, moves } = createHints(termsOf);
  const preFilterState = (state: CycleState): PreFilterState => state.get(NAME) as PreFilterState;
  const change = (
    state: CycleState,
    pod: Stored<Pod>,
    { other, node, by }: { other: Stored<Pod>; node: NodeInfo; by: 1 | -1 },
  ): void => {
    const { terms, existingAnti, affinity, antiAffinity } = preFilterState(state);
    for (const term of termsOf(other).antiAffinity)
      if (term.matches(pod)) addToCount(existingAnti, indexFor(existingAnti, term), { node, by });
    if (terms.affinity.length > 0 && terms.affinity.every((term) => term.matches(other)))
      for (let i = 0; i < affinity.length; i++) addToCount(affinity, i, { node, by });
    const isSummed = terms.antiAffinity.length > MANY_TERMS_OF_POD;
    terms.antiAffinity.forEach((term, i) => {
      if (node.node.metadata.labels?.[term.topologyKey] === undefined || !term.matches(other)) return;
      addToCount(antiAffinity, isSummed ? indexFor(antiAffinity, term) : i, { node, by });
    });
  };
  return {
    name: NAME,
    prepare(state, pod, { nodes }) {
      const steps = preparingSteps(termsOf(pod), nodes);
      return steps === undefined ? undefined : keepPrepared(state, steps);
    },
    preFilter(state, pod, snapshot) {
      const terms = termsOf(pod);
      const existingAnti: TopologyCounts = [];
      for (const { topologyKey, term, values } of prohibitions.candidates(snapshot, pod.metadata.labels))
        if (term.matches(pod)) existingAnti.push({ topologyKey, values });
      if (existingAnti.length === 0 && terms.affinity.length === 0 && terms.antiAffinity.length === 0) return SKIP;
      const prepared = preparedCounts(state, terms, snapshot);
      state.set(NAME, {
        terms,
        meetsItself: terms.affinity.every((term) => term.matches(pod)),
        existingAnti: existingAnti.length > MANY_TERMS ? mergeCounts(existingAnti) : existingAnti,
        affinity: prepared.affinity ?? countMatching(terms.affinity, { snapshot, counts, tallies }),
        antiAffinity: prepared.antiAffinity ?? countsOf(terms.antiAffinity, snapshot),
      } satisfies PreFilterState);
      return undefined;
    },
    filter(state, _pod, node) {
      const { existingAnti, antiAffinity } = preFilterState(state);
      if (!meetsAffinity(node, preFilterState(state))) return AFFINITY;
      if (antiAffinity.some((list) => countAt(list, node) > 0)) return ANTI_AFFINITY;
      return existingAnti.some((list) => countAt(list, node) > 0) ? EXISTING : undefined;
    },
    async prepareExplain(state, pod, { nodes }, turns) {
      const lacks = new AffinityLacks(termsOf, pod);
      for (const node of nodes) await lacks.add(node, turns);
      state.set(LACKS, lacks);
    },
    explain: (state, _pod, node) => (state.get(LACKS) as AffinityLacks).of(node),
    addPod: (state, pod, { other, node }) => change(state, pod, { other, node, by: 1 }),
    removePod: (state, pod, { other, node }) => change(state, pod, { other, node, by: -1 }),
    cloneState(value) {
      const { existingAnti, affinity, antiAffinity, ...same } = value as PreFilterState;
      return {
        ...same,
        existingAnti: mergeCounts(existingAnti),
        affinity: copyCounts(affinity),
        antiAffinity: copyCounts(antiAffinity),
      } satisfies PreFilterState;
    },
    preScore(state, pod, { snapshot }) {
      const scores = affinityScores(pod, snapshot, {
        termsOf,
        preferredTerms,
        args,
        prepared: preparedCounts(state, termsOf(pod), snapshot).preferred,
        countsOf: (terms) => countsOf(terms, snapshot),
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

/** The index of running pods' anti-affinity terms. */
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

function meetsAffinity(node: NodeInfo, { affinity, meetsItself }: PreFilterState): boolean {
  if (affinity.some(({ topologyKey }) => node.node.metadata.labels?.[topologyKey] === undefined)) return false;
  if (affinity.every((list) => countAt(list, node) > 0)) return true;
  // The first pod of a group with affinity to itself may run on any node.
  const anyMatch = affinity.some(({ values }) => values.values().some((count) => count > 0));
  return !anyMatch && meetsItself;
}

function* keepPrepared(state: CycleState, steps: Steps<PreparedCounts>): Steps<void> {
  state.set(PREPARED, yield* steps);
}

/** Those that were prepared in turns, else counted at once. */
function preparedCounts(state: CycleState, terms: PodTerms, { nodes }: Snapshot): PreparedCounts {
  const steps = state.has(PREPARED) ? undefined : preparingSteps(terms, nodes);
  if (steps !== undefined) state.set(PREPARED, allSteps(steps));
  return (state.get(PREPARED) ?? {}) as PreparedCounts;
}

/** Scales the scores to 0..100 by their minimum and maximum. */
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
