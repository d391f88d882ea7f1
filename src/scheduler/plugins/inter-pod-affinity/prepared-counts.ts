/**
 * Running pods that match the terms of a pod with thousands of them, counted in steps before PreFilter. Terms of one kind
 * are summed by topology value, as upstream's topologyToMatchedTermCount.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { StepMeter, type Steps } from '../../../base/steps.ts';
import { getOrMake } from '../../../base/get-or-make.ts';
import type { NodeInfo } from '../../cache/node-info.ts';
import { keysOfLabels, keysOfSelector } from '../../framework/selector-keys.ts';
import type { PodTerms, WeightedTerm } from './affinity-terms.ts';
import type { WeightedValues } from './affinity-scores.ts';
import type { TopologyCounts } from './topology-counts.ts';

/** Terms of one kind, beyond which they are summed and not remembered one by one. */
export const MANY_TERMS_OF_POD = 64;

/** How many comparisons a step takes: a few milliseconds. */
const STEP = 4000;

/** The counts of a pod with many terms of a kind; what is undefined has few. */
export interface PreparedCounts {
  affinity?: TopologyCounts;
  antiAffinity?: TopologyCounts;
  preferred?: readonly WeightedValues[];
}

/** Undefined: the pod has few terms. */
export function preparingSteps(terms: PodTerms, nodes: readonly NodeInfo[]): Steps<PreparedCounts> | undefined {
  const { affinity, antiAffinity, preferred } = terms;
  const longest = Math.max(affinity.length, antiAffinity.length, preferred.length);
  return longest > MANY_TERMS_OF_POD ? prepare(terms, nodes) : undefined;
}

function* prepare(terms: PodTerms, nodes: readonly NodeInfo[]): Steps<PreparedCounts> {
  const prepared: PreparedCounts = {};
  if (terms.affinity.length > MANY_TERMS_OF_POD) prepared.affinity = yield* countAll(terms, nodes);
  if (terms.antiAffinity.length > MANY_TERMS_OF_POD)
    prepared.antiAffinity = yield* sumTerms(
      terms.antiAffinity.map((term) => ({ term, weight: 1 })),
      nodes,
    );
  if (terms.preferred.length > MANY_TERMS_OF_POD) prepared.preferred = yield* sumTerms(terms.preferred, nodes);
  return prepared;
}

/** The weights of the terms that match each running pod, summed by topology value. */
export function* sumTerms(terms: readonly WeightedTerm[], nodes: readonly NodeInfo[]): Steps<WeightedValues[]> {
  const meter = new StepMeter(STEP);
  const byKey = new Map<string, WeightedTerm[]>();
  for (const weighted of terms) {
    for (const key of keysOfSelector(weighted.term.selector)) getOrMake(byKey, key, () => []).push(weighted);
    if (meter.endsStep(10 + weighted.term.selector.size)) yield;
  }
  const sumsOfTerms = new Map<string, ReadonlyMap<string, number>>();
  const sums = new Map<string, Map<string, number>>();
  for (const { node, pods } of nodes)
    for (const pod of pods.values()) {
      const { namespace, labels } = pod.metadata;
      // Pods of one template are compared once.
      const like = JSON.stringify([namespace, labels]);
      let weights = sumsOfTerms.get(like);
      if (weights === undefined) sumsOfTerms.set(like, (weights = yield* weightsFor(pod, byKey, meter)));
      for (const [topologyKey, value] of Object.entries(node.metadata.labels ?? {})) {
        if (meter.endsStep(1)) yield;
        const weight = weights.get(topologyKey);
        if (weight === undefined) continue;
        const values = getOrMake(sums, topologyKey, () => new Map<string, number>());
        values.set(value, (values.get(value) ?? 0) + weight);
      }
    }
  return [...sums].map(([topologyKey, values]) => ({ topologyKey, weight: 1, values }));
}

/** The weights of the terms that match a pod, summed by topology key. */
function* weightsFor(
  pod: Stored<Pod>,
  byKey: ReadonlyMap<string, readonly WeightedTerm[]>,
  meter: StepMeter,
): Steps<ReadonlyMap<string, number>> {
  const weights = new Map<string, number>();
  for (const key of keysOfLabels(pod.metadata.labels)) {
    for (const { term, weight } of byKey.get(key) ?? []) {
      if (meter.endsStep(1)) yield;
      if (term.matches(pod)) weights.set(term.topologyKey, (weights.get(term.topologyKey) ?? 0) + weight);
    }
    if (meter.endsStep(1)) yield;
  }
  return weights;
}

/** The pods that match all affinity terms, by the values of each of their topology keys. */
function* countAll({ affinity }: PodTerms, nodes: readonly NodeInfo[]): Steps<TopologyCounts> {
  const meter = new StepMeter(STEP);
  const topologyKeys = [...new Set(affinity.map(({ topologyKey }) => topologyKey))];
  const counts = topologyKeys.map((topologyKey) => ({ topologyKey, values: new Map<string, number>() }));
  for (const { node, pods } of nodes) {
    let matching = 0;
    for (const pod of pods.values()) if (yield* matchesAll(affinity, pod, meter)) matching++;
    if (matching === 0) continue;
    for (const { topologyKey, values } of counts) {
      const value = node.metadata.labels?.[topologyKey];
      if (value !== undefined) values.set(value, (values.get(value) ?? 0) + matching);
      if (meter.endsStep(1)) yield;
    }
  }
  return counts;
}

function* matchesAll(terms: PodTerms['affinity'], pod: Stored<Pod>, meter: StepMeter): Steps<boolean> {
  for (const term of terms) {
    if (meter.endsStep(1)) yield;
    if (!term.matches(pod)) return false;
  }
  return true;
}
