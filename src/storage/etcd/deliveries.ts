/** Delays each write's result until its event has come through the watch, so that clients read their own writes. */
import type { Clock } from '../../platform/clock.ts';

/** How long a write waits for its event. */
const DELIVERY_TIMEOUT_MS = 5_000;

interface Waiter {
  readonly revision: number;
  readonly wake: () => void;
}

export class Deliveries {
  readonly #clock: Clock;
  #waiters: Waiter[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves to the write once events up to its revision have been published. */
  async wait<T extends { readonly revision: number }>(write: T): Promise<T> {
    const { revision } = write;
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.setTimer(DELIVERY_TIMEOUT_MS, resolve);
      this.#waiters.push({ revision, wake: () => (cancel(), resolve()) });
    });
    return write;
  }

  wake(revision: number): void {
    if (this.#waiters.length === 0) return;
    const ready = this.#waiters.filter((waiter) => waiter.revision <= revision);
    this.#waiters = this.#waiters.filter((waiter) => waiter.revision > revision);
    for (const waiter of ready) waiter.wake();
  }
}
