/** Short keys for long texts: each of a pod's constraints has its affinity, tolerations and topology keys in its own key. */
import { stringifyJson } from '../../../api/codec/json.ts';
import type { Pod } from '../../../api/gen/core-v1.ts';
import { Lru } from '../../../base/lru.ts';

const KNOWN_TEXTS = 1000;

/** Remembers texts. A text that was forgotten gets another key: whoever remembers by it asks anew. */
export class SpreadKeys {
  readonly #keys = new Lru<string, number>(KNOWN_TEXTS);
  readonly #byOwner = new WeakMap<object, number>();
  #next = 0;

  /** Equal for equal texts. */
  of(text: string): number {
    let key = this.#keys.get(text);
    if (key === undefined) this.#keys.set(text, (key = this.#next++));
    return key;
  }

  /** Equal for pods that want the same nodes. */
  affinity({ spec }: Pod): number | undefined {
    return this.#ofPart(spec, () => [spec?.nodeSelector, spec?.affinity?.nodeAffinity]);
  }

  /** Equal for pods that tolerate the same. */
  tolerations({ spec }: Pod): number | undefined {
    return this.#ofPart(spec?.tolerations, () => spec?.tolerations);
  }

  #ofPart(owner: object | undefined, value: () => unknown): number | undefined {
    if (owner === undefined) return undefined;
    let key = this.#byOwner.get(owner);
    if (key === undefined) this.#byOwner.set(owner, (key = this.of(stringifyJson(value()))));
    return key;
  }
}
