/**
 * Scores by topology: what the pod prefers of running pods, and what they prefer of it (a required affinity of theirs
 * counts one). Upstream: interpodaffinity/scoring.go.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { NodeInfo, Snapshot } from '../../cache/node-info.ts';
import type { InterPodAffinityArgs } from '../../config/plugin-args.ts';
import type { NodeCounts } from '../../framework/node-counts.ts';
import type { AffinityTerm, PodTerms } from './affinity-terms.ts';

/** Sums by topology key and value. */
export type TopologyScores = Map<string, Map<string, number>>;

/** The sums; empty when nobody prefers anything. */
export function affinityScores(
  pod: Pod,
  snapshot: Snapshot,
  using: { termsOf: (pod: Pod) => PodTerms; counts: NodeCounts; args: InterPodAffinityArgs },
): TopologyScores {
  const { termsOf, counts, args } = using;
  const scores: TopologyScores = new Map();
  const add = (term: AffinityTerm, node: NodeInfo, weight: number): void => {
    const value = node.node.metadata.labels?.[term.topologyKey];
    if (value === undefined || weight === 0) return;
    let values = scores.get(term.topologyKey);
    if (values === undefined) scores.set(term.topologyKey, (values = new Map()));
    values.set(value, (values.get(value) ?? 0) + weight);
  };
  for (const { term, weight } of termsOf(pod).preferred) {
    const matches = (other: Pod): boolean => term.matches(other);
    const count =
      term.key === undefined
        ? (node: NodeInfo) =>
            node.pods
              .values()
              .filter(matches)
              .reduce((n) => n + 1, 0)
        : counts.of(term.key, matches);
    for (const node of snapshot.nodes) add(term, node, weight * count(node));
  }
  if (args.ignorePreferredTermsOfExistingPods && termsOf(pod).preferred.length === 0) return scores;
  for (const node of snapshot.withAffinity) {
    for (const other of node.podsWithAffinity.values()) {
      const terms = termsOf(other);
      for (const term of terms.affinity) if (term.matches(pod)) add(term, node, args.hardPodAffinityWeight);
      for (const { term, weight } of terms.preferred) if (term.matches(pod)) add(term, node, weight);
    }
  }
  return scores;
}
