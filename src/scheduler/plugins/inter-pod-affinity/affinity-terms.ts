/**
 * Affinity terms prepared for matching. Pure apart from the lookup of namespaces. Upstream: framework.AffinityTerm,
 * GetNamespaceLabelsSnapshot.
 */
import {
  compileLabelSelector,
  compileRequirements,
  nothing,
  type LabelMatcher,
  type LabelRequirement,
  type Labels,
} from '../../../api/label-selector.ts';
import type { Pod, PodAffinityTerm } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';

/** Labels of a namespace, for namespace selectors. */
export type NamespaceLabels = (namespace: string) => Labels;

/** A term of one pod. */
export interface AffinityTerm {
  readonly topologyKey: string;
  /**
   * Equal for terms that match the same pods. Undefined: the result depends on namespaces' labels and may not be
   * kept.
   */
  readonly key: string | undefined;
  /** Matches the labels of pods that match the term. */
  readonly selector: LabelMatcher;
  matches(other: Stored<Pod>): boolean;
}

/** A preferred term with its weight; negative for anti-affinity. */
export interface WeightedTerm {
  readonly term: AffinityTerm;
  readonly weight: number;
}

/** All terms of a pod. */
export interface PodTerms {
  readonly affinity: readonly AffinityTerm[];
  readonly antiAffinity: readonly AffinityTerm[];
  readonly preferred: readonly WeightedTerm[];
}

const NONE: PodTerms = { affinity: [], antiAffinity: [], preferred: [] };

/** Reads the terms of a pod. */
export type TermReader = (pod: Stored<Pod>) => PodTerms;

/** Creates a reader of pods' terms, which keeps the result for each pod object. */
export function createTermReader(namespaceLabels: NamespaceLabels): TermReader {
  const remembered = new WeakMap<Stored<Pod>, PodTerms>();
  return (pod) => {
    const affinity = pod.spec?.affinity;
    if (affinity?.podAffinity === undefined && affinity?.podAntiAffinity === undefined) return NONE;
    let terms = remembered.get(pod);
    if (terms === undefined) remembered.set(pod, (terms = readTerms(pod, namespaceLabels)));
    return terms;
  };
}

function readTerms(pod: Stored<Pod>, namespaceLabels: NamespaceLabels): PodTerms {
  const { podAffinity, podAntiAffinity } = pod.spec?.affinity ?? {};
  const read = (term: PodAffinityTerm): AffinityTerm => readTerm(pod, term, namespaceLabels);
  return {
    affinity: (podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map(read),
    antiAffinity: (podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map(read),
    preferred: [
      ...(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((t) => ({
        term: read(t.podAffinityTerm),
        weight: t.weight,
      })),
      ...(podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((t) => ({
        term: read(t.podAffinityTerm),
        weight: -t.weight,
      })),
    ],
  };
}

function readTerm(pod: Stored<Pod>, term: PodAffinityTerm, namespaceLabels: NamespaceLabels): AffinityTerm {
  const selector =
    term.labelSelector === undefined ? nothing : withLabelKeys(compileLabelSelector(term.labelSelector), pod, term);
  const named = new Set(term.namespaces ?? []);
  if (named.size === 0 && term.namespaceSelector === undefined) named.add(pod.metadata.namespace);
  const namespaces = term.namespaceSelector === undefined ? undefined : compileLabelSelector(term.namespaceSelector);
  const inNamespace = (namespace: string): boolean =>
    named.has(namespace) ||
    (namespaces !== undefined && (namespaces.isEverything || namespaces.matches(namespaceLabels(namespace))));
  const remembers = namespaces === undefined || namespaces.isEverything;
  return {
    topologyKey: term.topologyKey,
    selector,
    key: remembers
      ? `${namespaces === undefined ? [...named].sort().join(',') : '*'}|${selector.isNothing ? '!' : selector.toString()}`
      : undefined,
    matches: (other) => inNamespace(other.metadata.namespace) && selector.matches(other.metadata.labels),
  };
}

/** The selector with the requirements that `matchLabelKeys` and `mismatchLabelKeys` add from the pod's own labels. */
function withLabelKeys(selector: LabelMatcher, pod: Stored<Pod>, term: PodAffinityTerm): LabelMatcher {
  const labels = pod.metadata.labels ?? {};
  const more = (keys: readonly string[] | undefined, operator: 'in' | 'notin'): LabelRequirement[] =>
    (keys ?? []).flatMap((key) => (Object.hasOwn(labels, key) ? [{ key, operator, values: [labels[key] ?? ''] }] : []));
  const added = [...more(term.matchLabelKeys, 'in'), ...more(term.mismatchLabelKeys, 'notin')];
  return added.length === 0 ? selector : compileRequirements([...selector.requirements, ...added]);
}

/** The term as readable text. */
export function termText({ selector, topologyKey }: AffinityTerm): string {
  return `${selector.toString()} by ${topologyKey}`;
}
