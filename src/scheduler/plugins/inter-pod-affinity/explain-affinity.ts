/** Which term of affinity a node does not meet, and which running pods it is about. On request only. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import type { NodeInfo, Snapshot } from '../../cache/node-info.ts';
import { CountedPods, MAX_LISTED } from '../../framework/lack-texts.ts';
import type { Lack } from '../../framework/plugin.ts';
import { termText, type AffinityTerm, type PodTerms, type TermReader } from './affinity-terms.ts';
import { RepellingTerms } from './repelling-pods.ts';

/** What keeps one pod from nodes. Walks over all pods once per term; a node is looked up by its topology values. */
export class AffinityLacks {
  readonly #terms: PodTerms;
  /** Nodes with a pod that meets all affinity terms have these values of the terms' topology keys. */
  readonly #wanted: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #isFirst: boolean;
  /** By anti-affinity term and topology value. */
  readonly #unwanted: ReadonlyMap<AffinityTerm, ReadonlyMap<string, CountedPods>>;
  readonly #repelling: RepellingTerms;

  constructor(termsOf: TermReader, pod: Stored<Pod>, { nodes }: Snapshot) {
    this.#terms = termsOf(pod);
    const { affinity, antiAffinity } = this.#terms;
    const wanted = affinity.length === 0 ? [] : nodes.filter((node) => hasPod(node, affinity));
    this.#isFirst = wanted.length === 0 && affinity.every((term) => term.matches(pod));
    this.#wanted = new Map(affinity.map(({ topologyKey }) => [topologyKey, valuesOf(topologyKey, wanted)]));
    this.#unwanted = new Map(antiAffinity.map((term) => [term, matchingPods(term, nodes)]));
    this.#repelling = new RepellingTerms(termsOf, pod, nodes);
  }

  /** No more than are shown. */
  of({ node }: NodeInfo): readonly Lack[] {
    return this.#texts(node.metadata.labels ?? {})
      .take(MAX_LISTED)
      .map((what) => ({ what, distance: 1 }))
      .toArray();
  }

  *#texts(labels: Readonly<Record<string, string>>): Generator<string> {
    for (const { topologyKey, selector } of this.#terms.affinity) {
      const value = labels[topologyKey];
      if (value === undefined) yield `the node has no label ${topologyKey}, which podAffinity asks for`;
      else if (!this.#isFirst && this.#wanted.get(topologyKey)?.has(value) !== true)
        yield `no pod that podAffinity asks for (${selector.toString()}) runs in ${topologyKey}=${value}`;
    }
    for (const [term, byValue] of this.#unwanted) {
      const value = labels[term.topologyKey];
      const met = value === undefined ? undefined : byValue.get(value);
      if (met !== undefined) yield `podAntiAffinity (${termText(term)}) keeps it away from ${met.toString()}`;
    }
    for (const { term, pods } of this.#repelling.of(labels))
      yield `podAntiAffinity (${term}) of ${pods.toString()} keeps it away`;
  }
}

function hasPod(node: NodeInfo, terms: readonly AffinityTerm[]): boolean {
  return node.pods.values().some((other) => terms.every((term) => term.matches(other)));
}

function valuesOf(topologyKey: string, nodes: readonly NodeInfo[]): ReadonlySet<string> {
  return new Set(nodes.map(({ node }) => node.metadata.labels?.[topologyKey]).filter((value) => value !== undefined));
}

/** Pods that match, by topology value. */
function matchingPods(term: AffinityTerm, nodes: readonly NodeInfo[]): ReadonlyMap<string, CountedPods> {
  const counted = new Map<string, CountedPods>();
  for (const { name, node, pods } of nodes) {
    const value = node.metadata.labels?.[term.topologyKey];
    if (value === undefined) continue;
    for (const pod of pods.values()) {
      if (!term.matches(pod)) continue;
      const known = counted.get(value);
      if (known === undefined) counted.set(value, new CountedPods(pod, name));
      else known.addOne();
    }
  }
  return counted;
}
