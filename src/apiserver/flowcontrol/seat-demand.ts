/**
 * The recent seat demand of a priority level: mean, deviation and peak of each period, and a smoothed value that
 * follows growth at once and decline slowly. Upstream: util/flowcontrol, seatDemandStats and its integrator.
 */

/** The part of the smoothed value that remains per period while demand declines. As upstream. */
const SMOOTHING = 0.977;

/** Demand of one level, in seats. */
export class SeatDemand {
  /** The average of the last complete period. */
  average = 0;
  deviation = 0;
  peak = 0;
  smoothed = 0;
  #value = 0;
  #max = 0;
  #area = 0;
  #squares = 0;
  #startMs = 0;
  #lastMs = 0;

  /** The present demand: seats in use and waited for. */
  get value(): number {
    return this.#value;
  }

  /** Changes the demand. */
  add(seats: number, nowMs: number): void {
    this.#passTo(nowMs);
    this.#value += seats;
    if (this.#value > this.#max) this.#max = this.#value;
  }

  /** Ends a period and starts the next. */
  endPeriod(nowMs: number): void {
    this.#passTo(nowMs);
    const spanMs = nowMs - this.#startMs;
    this.average = spanMs > 0 ? this.#area / spanMs : this.#value;
    const meanSquare = spanMs > 0 ? this.#squares / spanMs : this.#value ** 2;
    this.deviation = Math.sqrt(Math.max(0, meanSquare - this.average ** 2));
    this.peak = this.#max;
    const envelope = this.average + this.deviation;
    this.smoothed = Math.max(envelope, SMOOTHING * this.smoothed + (1 - SMOOTHING) * envelope);
    this.startPeriod(nowMs);
  }

  /** Starts a period and discards the current one. */
  startPeriod(nowMs: number): void {
    this.#area = 0;
    this.#squares = 0;
    this.#max = this.#value;
    this.#startMs = nowMs;
    this.#lastMs = nowMs;
  }

  #passTo(nowMs: number): void {
    const spanMs = nowMs - this.#lastMs;
    if (spanMs <= 0) return;
    this.#area += this.#value * spanMs;
    this.#squares += this.#value ** 2 * spanMs;
    this.#lastMs = nowMs;
  }
}
