/** Long work on the loop leaves others their turn. */
import type { Clock } from '../platform/clock.ts';

/** Work for so long, then others have their turn. */
const TURN_MS = 2;

/** The turns of one piece of work. */
export class Turns {
  readonly #clock: Clock;
  #sinceMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.monotonicMs();
  }

  /** To be awaited where it is a promise: the turn was long. */
  next(): Promise<void> | undefined {
    return this.#clock.monotonicMs() - this.#sinceMs <= TURN_MS ? undefined : this.#pause();
  }

  async #pause(): Promise<void> {
    await this.#clock.yield();
    this.#sinceMs = this.#clock.monotonicMs();
  }
}
