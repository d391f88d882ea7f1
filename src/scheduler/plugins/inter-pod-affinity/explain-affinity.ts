/** Explains which affinity term a node does not satisfy, and which running pods cause it. Runs on request only. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import type { NodeInfo } from '../../cache/node-info.ts';
import { CountedPods, MAX_LISTED } from '../../framework/lack-texts.ts';
import type { ExplainTurns, Lack } from '../../framework/plugin.ts';
import { termText, type AffinityTerm, type PodTerms, type TermReader } from './affinity-terms.ts';
import { RepellingTerms } from './repelling-pods.ts';

/** Pods that match an anti-affinity term, by topology value. */
interface UnwantedPods {
  readonly term: AffinityTerm;
  readonly byValue: Map<string, CountedPods>;
}

/**
 * The terms that exclude nodes for one pod. One walk over all pods, with yields; a node is then looked up by its
 * topology values.
 */
export class AffinityLacks {
  readonly #terms: PodTerms;
  /** The values of the affinity terms' topology keys on nodes with a pod that matches all affinity terms. */
  readonly #wanted: ReadonlyMap<string, Set<string>>;
  readonly #meetsItself: boolean;
  #hasWanted = false;
  readonly #unwanted: readonly UnwantedPods[];
  readonly #repelling: RepellingTerms;

  constructor(termsOf: TermReader, pod: Stored<Pod>) {
    this.#terms = termsOf(pod);
    const { affinity, antiAffinity } = this.#terms;
    this.#wanted = new Map(affinity.map(({ topologyKey }) => [topologyKey, new Set()]));
    this.#meetsItself = affinity.every((term) => term.matches(pod));
    this.#unwanted = antiAffinity.map((term) => ({ term, byValue: new Map() }));
    this.#repelling = new RepellingTerms(termsOf, pod);
  }

  /** Adds the pods of one node. */
  async add(node: NodeInfo, turns: ExplainTurns): Promise<void> {
    if (await this.#hasPod(node, turns)) this.#addWanted(node);
    for (const unwanted of this.#unwanted) {
      addMatching(unwanted, node);
      await turns.next();
    }
    for (const running of node.podsWithRequiredAntiAffinity.values()) {
      this.#repelling.add(running, node);
      await turns.next();
    }
  }

  async #hasPod({ pods }: NodeInfo, turns: ExplainTurns): Promise<boolean> {
    const { affinity } = this.#terms;
    if (affinity.length === 0) return false;
    for (const pod of pods.values()) {
      if (affinity.every((term) => term.matches(pod))) return true;
      await turns.next();
    }
    return false;
  }

  #addWanted({ node }: NodeInfo): void {
    this.#hasWanted = true;
    for (const [topologyKey, values] of this.#wanted) {
      const value = node.metadata.labels?.[topologyKey];
      if (value !== undefined) values.add(value);
    }
  }

  /** At most as many as are shown. */
  of({ node }: NodeInfo): readonly Lack[] {
    return this.#texts(node.metadata.labels ?? {})
      .take(MAX_LISTED)
      .map((what) => ({ what, distance: 1 }))
      .toArray();
  }

  *#texts(labels: Readonly<Record<string, string>>): Generator<string> {
    const isFirst = !this.#hasWanted && this.#meetsItself;
    for (const { topologyKey, selector } of this.#terms.affinity) {
      const value = labels[topologyKey];
      if (value === undefined) yield `the node has no label ${topologyKey}, which podAffinity asks for`;
      else if (!isFirst && this.#wanted.get(topologyKey)?.has(value) !== true)
        yield `no pod that podAffinity asks for (${selector.toString()}) runs in ${topologyKey}=${value}`;
    }
    for (const { term, byValue } of this.#unwanted) {
      const value = labels[term.topologyKey];
      const met = value === undefined ? undefined : byValue.get(value);
      if (met !== undefined) yield `podAntiAffinity (${termText(term)}) keeps it away from ${met.toString()}`;
    }
    for (const { term, pods } of this.#repelling.of(labels))
      yield `podAntiAffinity (${term}) of ${pods.toString()} keeps it away`;
  }
}

function addMatching({ term, byValue }: UnwantedPods, { name, node, pods }: NodeInfo): void {
  const value = node.metadata.labels?.[term.topologyKey];
  if (value === undefined) return;
  for (const pod of pods.values()) {
    if (!term.matches(pod)) continue;
    let counted = byValue.get(value);
    if (counted === undefined) byValue.set(value, (counted = new CountedPods()));
    counted.add(pod, name);
  }
}
