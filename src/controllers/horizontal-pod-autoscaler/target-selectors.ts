/**
 * The pod selectors of autoscalers' targets; pods that several autoscalers select are an error. Upstream:
 * hpaSelectors.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { LabelMatcher } from '../../api/label-selector.ts';
import { parseLabelSelector } from '../../api/label-selector-parser.ts';
import { StepMeter } from '../../base/steps.ts';

interface Target {
  readonly text: string;
  readonly matcher: LabelMatcher;
  autoscalers: number;
}

/** Pods that are compared with selectors before others get a turn. */
const PODS_PER_TURN = 10_000;

/** The last known selectors by the autoscaler's key. A text is read once for all autoscalers whose targets have it. */
export class TargetSelectors {
  readonly #targets = new Map<string, Target>();
  readonly #byText = new Map<string, Target>();

  /** Throws LabelSelectorParseError. */
  set(key: string, text: string): LabelMatcher {
    const before = this.#targets.get(key);
    if (before?.text === text) return before.matcher;
    const target = this.#byText.get(text) ?? { text, matcher: parseLabelSelector(text), autoscalers: 0 };
    this.forget(key);
    target.autoscalers++;
    this.#byText.set(text, target);
    this.#targets.set(key, target);
    return target.matcher;
  }

  forget(key: string): void {
    const target = this.#targets.get(key);
    if (target === undefined) return;
    this.#targets.delete(key);
    if (--target.autoscalers === 0) this.#byText.delete(target.text);
  }

  /** The autoscalers of `keys`, other than `key`, whose selector matches one of the pods. */
  async othersOf(
    key: string,
    keys: readonly string[],
    { pods, pause }: { readonly pods: readonly Pod[]; readonly pause: () => Promise<void> | undefined },
  ): Promise<string[]> {
    const selecting = new Map<Target, boolean>();
    const meter = new StepMeter(PODS_PER_TURN);
    const others: string[] = [];
    for (const other of keys) {
      const target = other === key ? undefined : this.#targets.get(other);
      if (target === undefined) continue;
      if (!selecting.has(target)) {
        if (meter.endsStep(pods.length)) await pause();
        selecting.set(
          target,
          pods.some((pod) => target.matcher.matches(pod.metadata.labels)),
        );
      }
      if (selecting.get(target) === true) others.push(other);
    }
    return others;
  }
}
