/** Short keys for long texts: the key of each constraint contains the pod's affinity, tolerations and topology keys. */
import { stringifyJson } from '../../../api/codec/json.ts';
import type { Pod } from '../../../api/gen/core-v1.ts';
import { Lru } from '../../../base/lru.ts';

const KNOWN_TEXTS = 1000;

/**
 * Numbers for texts. A text that was forgotten gets a new number, so results kept by the old one are computed again.
 */
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

  /** Equal for pods with equal node affinity and node selector. */
  affinity({ spec }: Pod): number | undefined {
    return this.#ofPart(spec, () => [spec?.nodeSelector, spec?.affinity?.nodeAffinity]);
  }

  /** Equal for pods with equal tolerations. */
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
