/** Running pods whose anti-affinity keeps a pod away, found in one walk over them. */
import type { Labels } from '../../../api/label-selector.ts';
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import type { NodeInfo } from '../../cache/node-info.ts';
import { CountedPods, MAX_LISTED } from '../../framework/lack-texts.ts';
import { termText, type TermReader } from './affinity-terms.ts';

/** Pods with one term. */
interface RepellingPods {
  readonly term: string;
  readonly pods: CountedPods;
  /** Where the first of them stands among all terms. */
  readonly place: number;
}

/** By topology key and value, the first terms; more are never shown. */
export class RepellingTerms {
  readonly #byKey = new Map<string, Map<string, Map<string, RepellingPods>>>();

  constructor(termsOf: TermReader, pod: Stored<Pod>, nodes: readonly NodeInfo[]) {
    let place = 0;
    for (const { name, node, podsWithRequiredAntiAffinity } of nodes)
      for (const other of podsWithRequiredAntiAffinity.values())
        for (const term of termsOf(other).antiAffinity) {
          const value = node.metadata.labels?.[term.topologyKey];
          if (value === undefined || !term.matches(pod)) continue;
          const found = this.#at(term.topologyKey, value);
          const text = termText(term);
          const known = found.get(text);
          if (known !== undefined) known.pods.addOne();
          else if (found.size < MAX_LISTED)
            found.set(text, { term: text, pods: new CountedPods(other, name), place: place++ });
        }
  }

  /** Those that keep the pod away from a node with these labels, in the order they were found. */
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
