/**
 * Runs a virtual clock by itself beside real clients: at a speed, paused, or by steps. Time advances as fast as its events can be
 * processed, so a speed is a maximum; no due timer is skipped.
 */
import { errorMessage } from '../../base/errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';

/** A virtual clock that a cluster advances. */
export interface MovedClock {
  /** Advances the clock; 0 runs everything that is due at this instant. */
  advance(ms: number): Promise<void>;
}

export interface RunningClockDeps {
  readonly moved: MovedClock;
  readonly real: Pick<Clock, 'monotonicMs' | 'sleep'>;
  readonly log: Log;
}

export interface ClockState {
  readonly paused: boolean;
  readonly speed: number;
  /** The speed of the last seconds, which is lower than requested on a slow machine. */
  readonly reached: number;
}

const BEAT_MS = 10;
/** The maximum real time of one advance; after it a pause takes effect and clients are served. */
const MOVE_REAL_MS = 50;
const LEAST_MOVE_MS = 10;
/** The maximum simulated time for which a pause waits; timeouts of requests are longer. */
const SLICE_MS = 10_000;
/** The period over which the reached speed is measured. */
const MEASURED_MS = 2000;

export class RunningClock {
  readonly #deps: RunningClockDeps;
  readonly #life = new AbortController();
  #speed: number;
  #isPaused = false;
  /** The rest of the current step. */
  #stepMs = 0;
  /** The maximum advance at once. */
  #mostMs = 1000;
  #measured: { sinceMs: number; movedMs: number } = { sinceMs: 0, movedMs: 0 };
  #reached = 0;
  /** The number of pauses and other commands, which end an advance in progress. */
  #changes = 0;
  #moving: Promise<void> = Promise.resolve();
  /** The last error of an advance; '' after a successful one. */
  #failure = '';

  constructor(deps: RunningClockDeps, speed: number) {
    this.#deps = deps;
    this.#speed = speed;
  }

  get state(): ClockState {
    return { paused: this.#isPaused, speed: this.#speed, reached: this.#isPaused ? 0 : this.#reached };
  }

  /** Pauses the clock and drops the rest of a step. Resolves when time stands: the current slice of an advance is completed. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    this.#stepMs = 0;
    this.#changes++;
    await this.#moving;
  }

  run(): void {
    this.#isPaused = false;
    this.#stepMs = 0;
  }

  setSpeed(speed: number): void {
    this.#speed = speed;
  }

  /** Lets `ms` pass while the clock is paused. */
  step(ms: number): void {
    this.#isPaused = true;
    this.#stepMs += ms;
  }

  /** Resolves when the clock was stopped. */
  async start(): Promise<void> {
    const { real } = this.#deps;
    const { signal } = this.#life;
    let lastMs = real.monotonicMs();
    this.#measured = { sinceMs: lastMs, movedMs: 0 };
    while (!signal.aborted) {
      await real.sleep(BEAT_MS, signal).catch(() => undefined);
      if (signal.aborted) return;
      const nowMs = real.monotonicMs();
      const dueMs = this.#isPaused ? this.#stepMs : (nowMs - lastMs) * this.#speed;
      lastMs = nowMs;
      // Also advances by 0: otherwise all work of requests while time stands would count as one endless task.
      this.#moving = this.#move(Math.min(dueMs, this.#mostMs));
      await this.#moving;
      this.#measure();
    }
  }

  stop(): void {
    this.#life.abort(new Error('the clock is stopped'));
  }

  async #move(ms: number): Promise<void> {
    const { moved, real, log } = this.#deps;
    const beganMs = real.monotonicMs();
    if (this.#isPaused) this.#stepMs -= ms;
    try {
      const changes = this.#changes;
      let leftMs = ms;
      do {
        const sliceMs = Math.min(leftMs, SLICE_MS);
        await moved.advance(sliceMs);
        this.#measured.movedMs += sliceMs;
        leftMs -= sliceMs;
      } while (leftMs > 0 && changes === this.#changes);
      this.#failure = '';
    } catch (error) {
      const failure = errorMessage(error);
      // The advance is repeated at each beat, and the same error is logged once.
      if (!this.#life.signal.aborted && failure !== this.#failure)
        log.error('simulated time could not move on', { err: failure });
      this.#failure = failure;
    }
    const tookMs = real.monotonicMs() - beganMs;
    if (tookMs > MOVE_REAL_MS) this.#mostMs = Math.max(LEAST_MOVE_MS, this.#mostMs / 2);
    else if (ms > 0 && ms >= this.#mostMs) this.#mostMs *= 2;
  }

  #measure(): void {
    const nowMs = this.#deps.real.monotonicMs();
    const { sinceMs, movedMs } = this.#measured;
    if (nowMs - sinceMs < MEASURED_MS) return;
    this.#reached = movedMs / (nowMs - sinceMs);
    this.#measured = { sinceMs: nowMs, movedMs: 0 };
  }
}
