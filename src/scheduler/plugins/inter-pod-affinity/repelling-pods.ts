/** Running pods whose anti-affinity terms exclude nodes for a pod, found in one walk over them. */
import type { Labels } from '../../../api/label-selector.ts';
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import type { NodeInfo } from '../../cache/node-info.ts';
import { CountedPods, MAX_LISTED } from '../../framework/lack-texts.ts';
import { termText, type TermReader } from './affinity-terms.ts';

/** Running pods with one term. */
interface RepellingPods {
  readonly term: string;
  readonly pods: CountedPods;
  /** The index of the first of them in the order of the walk. */
  readonly place: number;
}

/** The first terms by topology key and value; later ones are not shown. */
export class RepellingTerms {
  readonly #byKey = new Map<string, Map<string, Map<string, RepellingPods>>>();

  #places = 0;
  readonly #termsOf: TermReader;
  readonly #pod: Stored<Pod>;

  constructor(termsOf: TermReader, pod: Stored<Pod>) {
    this.#termsOf = termsOf;
    this.#pod = pod;
  }

  /** Adds the anti-affinity terms of the running pod that match the other pod. */
  add(running: Stored<Pod>, { name, node }: NodeInfo): void {
    for (const term of this.#termsOf(running).antiAffinity) {
      const value = node.metadata.labels?.[term.topologyKey];
      if (value === undefined || !term.matches(this.#pod)) continue;
      const found = this.#at(term.topologyKey, value);
      const text = termText(term);
      let repellingPods = found.get(text);
      if (repellingPods === undefined) {
        if (found.size >= MAX_LISTED) continue;
        repellingPods = { term: text, pods: new CountedPods(), place: this.#places++ };
        found.set(text, repellingPods);
      }
      repellingPods.pods.add(running, name);
    }
  }

  /** The pods whose terms exclude a node with these labels, in the order in which they were found. */
  of(labels: Labels): readonly RepellingPods[] {
    return Object.entries(labels ?? {})
      .flatMap(([topologyKey, value]) => [...(this.#byKey.get(topologyKey)?.get(value)?.values() ?? [])])
      .sort((a, b) => a.place - b.place);
  }

  #at(topologyKey: string, value: string): Map<string, RepellingPods> {
    let byValue = this.#byKey.get(topologyKey);
    if (byValue === undefined) this.#byKey.set(topologyKey, (byValue = new Map()));
    let found = byValue.get(value);
    if (found === undefined) byValue.set(value, (found = new Map()));
    return found;
  }
}
