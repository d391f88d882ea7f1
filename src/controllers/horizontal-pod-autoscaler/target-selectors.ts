/** The pod selectors of autoscalers' targets: pods that several autoscalers scale are an error. Upstream: hpaSelectors. */
import { parseLabelSelector } from '../../api/label-selector-parser.ts';
import type { Pod } from '../../api/gen/core-v1.ts';

/** The last known selectors by the autoscaler's key. */
export class TargetSelectors {
  readonly #selectors = new Map<string, string>();

  set(key: string, selector: string): void {
    this.#selectors.set(key, selector);
  }

  forget(key: string): void {
    this.#selectors.delete(key);
  }

  /** Those of the keys, other than `key`, whose selector matches one of the pods. */
  othersOf(key: string, keys: readonly string[], pods: readonly Pod[]): string[] {
    return keys.filter((other) => {
      const text = this.#selectors.get(other);
      if (other === key || text === undefined) return false;
      const matcher = parseLabelSelector(text);
      return pods.some((pod) => matcher.matches(pod.metadata.labels));
    });
  }
}
