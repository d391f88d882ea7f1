/**
 * Lets a virtual clock run by itself beside real clients: at a speed, paused, or by steps. Time moves on as fast as what happens in it
 * can be done, so that a speed is the most that is reached; nothing that was due is left out.
 */
import { errorMessage } from '../../base/errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';

/** A virtual clock, as a cluster moves it. */
export interface MovedClock {
  /** By 0: lets be done what can be at this instant. */
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
  /** The speed of the last seconds, as far as the machine could do it. */
  readonly reached: number;
}

const BEAT_MS = 10;
/** A move takes about so long at most: then a pause is heard, and clients have their turn. */
const MOVE_REAL_MS = 50;
const LEAST_MOVE_MS = 10;
/** A pause waits for so much simulated time at most, which no request has its timeout in. */
const SLICE_MS = 10_000;
/** Over so long the reached speed is taken. */
const MEASURED_MS = 2000;

export class RunningClock {
  readonly #deps: RunningClockDeps;
  readonly #life = new AbortController();
  #speed: number;
  #isPaused = false;
  /** How much of the steps has yet to pass. */
  #stepMs = 0;
  /** How far the clock is moved at once. */
  #mostMs = 1000;
  #measured: { sinceMs: number; movedMs: number } = { sinceMs: 0, movedMs: 0 };
  #reached = 0;
  /** How often a pause has ended what was under way. */
  #changes = 0;
  #moving: Promise<void> = Promise.resolve();
  /** Why time could not move on last; '' when it could. */
  #failure = '';

  constructor(deps: RunningClockDeps, speed: number) {
    this.#deps = deps;
    this.#speed = speed;
  }

  get state(): ClockState {
    return { paused: this.#isPaused, speed: this.#speed, reached: this.#isPaused ? 0 : this.#reached };
  }

  /** What is left of a step does not pass. Resolves when time stands: a slice of a move that has begun goes to its end. */
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

  /** Lets so much time pass while it is paused. */
  step(ms: number): void {
    this.#isPaused = true;
    this.#stepMs += ms;
  }

  /** Resolves when it was stopped. */
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
      // Also by nothing: else all that requests do while time stands would count as one endless piece of work.
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
      // It is tried at each beat: the same failure is logged once.
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
