/** When the samples of the last hour were taken. A slot is the number of a sample, from 0. */

export const PERIOD_MS = 30_000;
/** One more than an hour has periods: the sample that is being taken is not shown yet. */
export const SLOTS = 3_600_000 / PERIOD_MS + 1;

export class Timeline {
  readonly #times = new Float64Array(SLOTS);
  /** The newest slot that is complete; -1: none. */
  newest = -1;

  /** Begins a sample at a wall time. It is complete once `newest` is its slot. */
  begin(timeMs: number): number {
    const slot = this.newest + 1;
    this.#times[slot % SLOTS] = timeMs;
    return slot;
  }

  /** The slots of the last hour, the newest last. */
  kept(): readonly number[] {
    const count = Math.min(SLOTS - 1, this.newest + 1);
    return Array.from({ length: count }, (_, index) => this.newest - count + 1 + index);
  }

  timeMs(slot: number): number {
    return this.#times[slot % SLOTS]!;
  }
}
