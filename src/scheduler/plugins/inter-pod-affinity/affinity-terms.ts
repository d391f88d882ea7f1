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
import { membership } from '../../../api/label-requirement.ts';
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
  const read = (term: PodAffinityTerm): AffinityTerm => new ReadTerm(pod, term, namespaceLabels);
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

/** Compiled when it is first compared: a pod may have thousands of terms. */
class ReadTerm implements AffinityTerm {
  readonly topologyKey: string;
  readonly #pod: { readonly metadata: Stored<Pod>['metadata'] };
  readonly #term: PodAffinityTerm;
  readonly #namespaceLabels: NamespaceLabels;
  #compiled: CompiledTerm | undefined;
  #key: string | undefined;

  constructor({ metadata }: Stored<Pod>, term: PodAffinityTerm, namespaceLabels: NamespaceLabels) {
    this.topologyKey = term.topologyKey;
    this.#pod = { metadata };
    this.#term = term;
    this.#namespaceLabels = namespaceLabels;
  }

  get selector(): LabelMatcher {
    return this.#parts().selector;
  }

  get key(): string | undefined {
    const { selector, named, namespaces } = this.#parts();
    if (namespaces !== undefined && !namespaces.isEverything) return undefined;
    const where = (): string => (namespaces === undefined ? named.toSorted().join(',') : '*');
    return (this.#key ??= `${where()}|${selector.isNothing ? '!' : selector.toString()}`);
  }

  matches({ metadata: { namespace, labels } }: Stored<Pod>): boolean {
    const { selector, isNamed, namespaces } = this.#parts();
    const inNamespace =
      isNamed(namespace) ||
      (namespaces !== undefined && (namespaces.isEverything || namespaces.matches(this.#namespaceLabels(namespace))));
    return inNamespace && selector.matches(labels);
  }

  #parts(): CompiledTerm {
    return (this.#compiled ??= compileTerm(this.#pod, this.#term));
  }
}

interface CompiledTerm {
  readonly selector: LabelMatcher;
  readonly named: readonly string[];
  readonly isNamed: (namespace: string) => boolean;
  readonly namespaces: LabelMatcher | undefined;
}

function compileTerm(pod: { readonly metadata: Stored<Pod>['metadata'] }, term: PodAffinityTerm): CompiledTerm {
  const selector =
    term.labelSelector === undefined ? nothing : withLabelKeys(compileLabelSelector(term.labelSelector), pod, term);
  const namespaces = term.namespaceSelector === undefined ? undefined : compileLabelSelector(term.namespaceSelector);
  const listed = [...new Set(term.namespaces)];
  const named = listed.length === 0 && namespaces === undefined ? [pod.metadata.namespace] : listed;
  return { selector, named, isNamed: membership(named), namespaces };
}

/** The selector with the requirements that `matchLabelKeys` and `mismatchLabelKeys` add from the pod's own labels. */
function withLabelKeys(
  selector: LabelMatcher,
  pod: { readonly metadata: Stored<Pod>['metadata'] },
  term: PodAffinityTerm,
): LabelMatcher {
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
