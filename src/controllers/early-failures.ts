/**
 * Pods that end at once, such as those that a kubelet does not admit, are replaced once a second at most: whoever owns them would
 * otherwise make them again as fast as the API server answers.
 *
 * Differs: upstream's ReplicaSet and StatefulSet controllers do not wait. What limits them is their client, to 20 requests a second.
 */
import { parseTime } from '../api/time.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import type { Stored } from '../api/object.ts';

const REPLACED_AFTER_MS = 1000;

/** How long the replacement of a pod that ended has to wait; 0: it may be made. */
export function replacementWaitMs(pod: Stored<Pod>, nowMs: number): number {
  const waitMs = parseTime(pod.metadata.creationTimestamp) + REPLACED_AFTER_MS - nowMs;
  // The API server's clock may be ahead of this one.
  return Math.max(0, Math.min(waitMs, REPLACED_AFTER_MS)) || 0;
}

/** Until when owners wait, whose pods are replaced by pods of other names. */
export class EarlyFailures {
  readonly #untilMs = new Map<string, number>();

  /** Takes note of a pod that ended. */
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
