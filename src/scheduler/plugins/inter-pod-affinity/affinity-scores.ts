/**
 * Scores by topology: the pod's preferred terms against running pods, and running pods' preferred terms against the
 * pod. A running pod's required affinity term counts `hardPodAffinityWeight`. Upstream: interpodaffinity/scoring.go.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import type { NodeInfo, Snapshot } from '../../cache/node-info.ts';
import type { InterPodAffinityArgs } from '../../config/plugin-args.ts';
import { TermIndex, type IndexedTerm } from '../../framework/term-index.ts';
import type { AffinityTerm, TermReader, WeightedTerm } from './affinity-terms.ts';

/** The number of pods by topology value, and the weight of each. */
export interface WeightedValues {
  readonly topologyKey: string;
  readonly weight: number;
  readonly values: ReadonlyMap<string, number>;
}

/** With more lists than this, their sums are computed before nodes are compared with them. */
export const MANY_TERMS = 16;

/**
 * The terms of one running pod that count for the scores of others. Every pod that is scheduled is compared with all of them,
 * and a pod may have thousands. Upstream has no limit.
 */
const MAX_TERMS_OF_POD = 100;

/** The index of running pods' preferred terms. */
export function createPreferredTermIndex(termsOf: TermReader, args: InterPodAffinityArgs): TermIndex<WeightedTerm> {
  return new TermIndex({
    podsOn: (node) => node.podsWithAffinity,
    *termsOf(other, uid): Iterable<IndexedTerm<WeightedTerm>> {
      const { affinity, preferred } = termsOf(other);
      for (const term of affinity.slice(0, MAX_TERMS_OF_POD))
        yield indexed(uid, { term, weight: args.hardPodAffinityWeight });
      for (const weighted of preferred.slice(0, MAX_TERMS_OF_POD)) yield indexed(uid, weighted);
    },
  });
}

function indexed(uid: string, weighted: WeightedTerm): IndexedTerm<WeightedTerm> {
  const { topologyKey, key, selector } = weighted.term;
  return { id: `${topologyKey}|${weighted.weight}|${key ?? `pod ${uid}`}`, topologyKey, selector, term: weighted };
}

/** All terms that apply to the pod; empty when no term does. */
export function affinityScores(
  pod: Stored<Pod>,
  snapshot: Snapshot,
  using: {
    termsOf: TermReader;
    countsOf: (terms: readonly AffinityTerm[]) => readonly { readonly values: ReadonlyMap<string, number> }[];
    preferredTerms: TermIndex<WeightedTerm>;
    args: InterPodAffinityArgs;
    /** The sums of the pod's own terms, when it has many. */
    prepared: readonly WeightedValues[] | undefined;
  },
): WeightedValues[] {
  const { preferred } = using.termsOf(pod);
  const scores = [...(using.prepared ?? scoresOfEach(preferred, using.countsOf))];
  if (using.args.ignorePreferredTermsOfExistingPods && preferred.length === 0) return scores;
  for (const { topologyKey, term: weighted, values } of using.preferredTerms.candidates(snapshot, pod.metadata.labels))
    if (weighted.weight !== 0 && weighted.term.matches(pod))
      scores.push({ topologyKey, weight: weighted.weight, values });
  return scores.length > MANY_TERMS ? sumOfValues(scores) : scores;
}

function scoresOfEach(
  preferred: readonly WeightedTerm[],
  countsOf: (terms: readonly AffinityTerm[]) => readonly { readonly values: ReadonlyMap<string, number> }[],
): WeightedValues[] {
  const counts = countsOf(preferred.map(({ term }) => term));
  return preferred.flatMap(({ term: { topologyKey }, weight }, at) => {
    const { values } = counts[at]!;
    return weight !== 0 && values.values().some((count) => count > 0) ? [{ topologyKey, weight, values }] : [];
  });
}

/** The same as one list per topology key. */
export function sumOfValues(lists: readonly WeightedValues[]): WeightedValues[] {
  const merged = new Map<string, Map<string, number>>();
  for (const { topologyKey, weight, values } of lists) {
    const sums = merged.get(topologyKey) ?? new Map<string, number>();
    for (const [value, count] of values) sums.set(value, (sums.get(value) ?? 0) + weight * count);
    merged.set(topologyKey, sums);
  }
  return [...merged].map(([topologyKey, values]) => ({ topologyKey, weight: 1, values }));
}

/** The raw score of a node. */
export function affinityScore(scores: readonly WeightedValues[], { node }: NodeInfo): number {
  let sum = 0;
  for (const { topologyKey, weight, values } of scores) {
    const value = node.metadata.labels?.[topologyKey];
    if (value !== undefined) sum += weight * (values.get(value) ?? 0);
  }
  return sum;
}
