/** Events of the runtime until their pods are inspected: those of one pod are merged, and those of a held pod wait. */
import { onAbort } from '../../base/abort.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import type { ObservationStamp } from '../container/pod-cache.ts';

/** Events of one pod come in bursts: created, started, stopped. */
const EVENT_SETTLE_MS = 10;

export class RuntimeEvents {
  readonly #clock: Clock;
  readonly #inspect: (events: readonly (readonly [uid: string, stamp: ObservationStamp])[]) => void;
  /** The stamp of each pod's newest event. */
  readonly #events = new Map<string, ObservationStamp>();
  readonly #heldPods = new Set<string>();
  #cancelTimer: CancelTimer | undefined;
  #lifetime: AbortSignal | undefined;

  /** `inspect` is called with merged events after the settling time. */
  constructor(clock: Clock, inspect: (events: readonly (readonly [uid: string, stamp: ObservationStamp])[]) => void) {
    this.#clock = clock;
    this.#inspect = inspect;
  }

  start(signal: AbortSignal): void {
    this.#lifetime = signal;
    onAbort(signal, () => this.#cancelTimer?.());
  }

  add(uid: string, stamp: ObservationStamp): void {
    this.#events.set(uid, stamp);
    this.#setTimer();
  }

  /** Events of the pod wait until the returned function is called. */
  hold(uid: string): () => void {
    this.#heldPods.add(uid);
    return () => {
      this.#heldPods.delete(uid);
      if (this.#events.has(uid)) this.#setTimer();
    };
  }

  #setTimer(): void {
    if (this.#cancelTimer !== undefined || this.#lifetime?.aborted !== false) return;
    this.#cancelTimer = this.#clock.setTimer(EVENT_SETTLE_MS, () => {
      this.#cancelTimer = undefined;
      const due = [...this.#events].filter(([uid]) => !this.#heldPods.has(uid));
      for (const [uid] of due) this.#events.delete(uid);
      this.#inspect(due);
    });
  }
}
