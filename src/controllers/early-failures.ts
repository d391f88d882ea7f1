/**
 * Limits the replacement of pods that end at once, such as those that a kubelet does not admit, to one a second for
 * each owner. Otherwise the owner would recreate them as fast as the API server answers.
 *
 * Differs: upstream's ReplicaSet and StatefulSet controllers do not wait; their clients are limited to 20 requests a
 * second.
 */
import { parseTime } from '../api/time.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import type { Stored } from '../api/object.ts';

const REPLACED_AFTER_MS = 1000;

/** How long the replacement of an ended pod waits; 0: it may be created. */
export function replacementWaitMs(pod: Stored<Pod>, nowMs: number): number {
  const waitMs = parseTime(pod.metadata.creationTimestamp) + REPLACED_AFTER_MS - nowMs;
  // The API server's clock may be ahead of this one.
  return Math.max(0, Math.min(waitMs, REPLACED_AFTER_MS)) || 0;
}

/** The times until which owners wait whose replacements have other names. */
export class EarlyFailures {
  readonly #untilMs = new Map<string, number>();

  /** Records a pod that ended. */
  ended(ownerKey: string, pod: Stored<Pod>, nowMs: number): void {
    const waitMs = replacementWaitMs(pod, nowMs);
    if (waitMs > 0) this.#untilMs.set(ownerKey, nowMs + waitMs);
  }

  waitMs(ownerKey: string, nowMs: number): number {
    const waitMs = (this.#untilMs.get(ownerKey) ?? 0) - nowMs;
    if (waitMs > 0) return waitMs;
    this.#untilMs.delete(ownerKey);
    return 0;
  }

  forget(ownerKey: string): void {
    this.#untilMs.delete(ownerKey);
  }
}
