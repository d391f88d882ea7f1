/**
 * The clock of simulations and unit tests: time moves only by `advance`, and straight to the next timer.
 *
 * Between two timer callbacks everything they set off is let run: a turn of the real loop passes (microtasks and next
 * ticks drain completely in it), and more turns as long as something was scheduled meanwhile or a busy token is held.
 * Draining a guessed number of promises would prove nothing, so all real asynchronous work must hold a token. Work that
 * never lets time move ends in a `LivelockError` which names who scheduled it. The one place outside platform/node that
 * uses real timers. Upstream: k8s.io/utils/clock/testing.
 */
import { LivelockError, LivelockGuard } from './livelock-guard.ts';
import { onAbort } from '../../base/abort.ts';
import type { CancelTimer, Clock, ReleaseBusy } from '../clock.ts';
import { TimerHeap, type HeapTimer } from './timer-heap.ts';

const realSetImmediate = globalThis.setImmediate;
const realSetTimeout = globalThis.setTimeout;
const realClearTimeout = globalThis.clearTimeout;

/** How the clock starts and what it tolerates. */
export interface VirtualClockOptions {
  /** Wall-clock start. Default 2026-01-01T00:00:00Z. */
  readonly startMs?: number;
  /** Callbacks and yields allowed in one move without time moving, besides a few for each timer that waits. Default 100,000. */
  readonly maxCallbacksPerInstant?: number;
  /** Real milliseconds to wait for busy tokens. Default 30,000. */
  readonly busyTimeoutMs?: number;
}

/** Beyond this virtual time a run that waits for something gives up. */
const DEFAULT_LIMIT_MS = 24 * 3_600_000;

/** The start of virtual time when none is given: 2026-01-01T00:00:00Z. */
const DEFAULT_START_MS = 1_767_225_600_000;

/** A clock that only advances on request. */
export class VirtualClock implements Clock {
  #monotonicMs = 0;
  #wallOffsetMs: number;
  readonly #busyTimeoutMs: number;
  readonly #timers = new TimerHeap();
  #foreground = 0;
  #nextId = 0;
  #activity = 0;
  readonly #busy = new Map<number, string>();
  #onIdle: (() => void) | undefined;
  readonly #wallListeners = new Set<(jumpMs: number) => void>();
  #running = false;
  readonly #livelock: LivelockGuard;

  constructor(options: VirtualClockOptions = {}) {
    this.#wallOffsetMs = options.startMs ?? DEFAULT_START_MS;
    this.#livelock = new LivelockGuard(options.maxCallbacksPerInstant ?? 100_000);
    this.#busyTimeoutMs = options.busyTimeoutMs ?? 30_000;
  }

  nowMs(): number {
    return this.#wallOffsetMs + this.#monotonicMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  setTimer(delayMs: number, callback: () => void): CancelTimer {
    return this.#schedule(delayMs, callback, 0);
  }

  setTicker(periodMs: number, callback: () => void): CancelTimer {
    if (!(periodMs > 0)) throw new RangeError(`ticker period must be positive, got ${periodMs}`);
    return this.#schedule(periodMs, callback, periodMs);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      if (signal === undefined) {
        this.setTimer(delayMs, resolve);
        return;
      }
      const cancel = this.setTimer(delayMs, () => {
        unhook();
        resolve();
      });
      const unhook = onAbort(signal, () => {
        cancel();
        reject(signal.reason);
      });
    });
  }

  yield(): Promise<void> {
    this.#livelock.count();
    this.#activity++;
    return new Promise((resolve) => realSetImmediate(resolve));
  }

  turn(): undefined {
    return undefined;
  }

  holdBusy(what: string): ReleaseBusy {
    const id = this.#nextId++;
    this.#activity++;
    this.#busy.set(id, what);
    return () => {
      if (!this.#busy.delete(id)) return;
      this.#activity++;
      if (this.#busy.size === 0) this.#onIdle?.();
    };
  }

  onWallJump(listener: (jumpMs: number) => void): CancelTimer {
    const entry = (jumpMs: number): void => listener(jumpMs);
    this.#wallListeners.add(entry);
    return () => void this.#wallListeners.delete(entry);
  }

  /** Moves wall time against monotonic time and calls the listeners, as when a clock is set or a machine resumes. */
  jumpWall(jumpMs: number): void {
    this.#wallOffsetMs += jumpMs;
    if (Math.abs(jumpMs) > 1000) for (const listener of this.#wallListeners) listener(jumpMs);
  }

  /** Whether a busy token holds time still. */
  get isHeld(): boolean {
    return this.#busy.size > 0;
  }

  /** Timers that wait, tickers included. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** When the next timer is due, in monotonic milliseconds; undefined when there is none. */
  get nextDueMs(): number | undefined {
    return this.#timers.peek()?.dueMs;
  }

  /** The work that holds time still right now. */
  get busyHolders(): readonly string[] {
    return [...this.#busy.values()];
  }

  /** Lets everything that can run at this instant run, without firing timers. */
  async settle(): Promise<void> {
    this.#begin();
    try {
      await this.#settle();
    } finally {
      this.#running = false;
    }
  }

  /** Moves time by `ms`, running due timers in order and letting their effects settle in between. */
  advance(ms: number): Promise<void> {
    return this.#move(this.#monotonicMs + ms, false);
  }

  /** As `advance`, right after a move or a `settle` and in the same turn: nothing is left that could run before time moves. */
  advanceSettled(ms: number): Promise<void> {
    return this.#move(this.#monotonicMs + ms, true);
  }

  /** Runs until no timer but tickers is left. Rejects past `limitMs` of virtual time (default a day). */
  runUntilIdle(limitMs: number = DEFAULT_LIMIT_MS): Promise<void> {
    return this.runUntil(() => this.#foreground === 0, limitMs);
  }

  /** Moves from timer to timer until `condition` holds. Rejects when no timer is left or `limitMs` of virtual time pass. */
  async runUntil(condition: () => boolean, limitMs: number = DEFAULT_LIMIT_MS): Promise<void> {
    const endMs = this.#monotonicMs + limitMs;
    this.#begin();
    try {
      await this.#settle();
      while (!condition()) {
        const next = this.#timers.peek();
        if (next === undefined) throw new Error('the awaited condition cannot come about: no timer is left');
        if (next.dueMs > endMs) throw new Error(`the awaited condition did not come about in ${limitMs} ms`);
        this.#fireNext();
        await this.#settle();
      }
    } finally {
      this.#running = false;
    }
  }

  /** Moves time as far as `work` needs it to settle, and settles as `work` does. */
  async drive<T>(work: Promise<T>, limitMs?: number): Promise<T> {
    let settled = false;
    const mark = (): void => void (settled = true);
    work.then(mark, mark);
    await this.runUntil(() => settled, limitMs);
    return work;
  }

  /** `periodMs`: of a ticker. */
  #schedule(delayMs: number, callback: () => void, periodMs: number): CancelTimer {
    if (Number.isNaN(delayMs)) throw new RangeError('timer delay is not a number');
    if (delayMs === Infinity) return () => undefined;
    const timer: HeapTimer = {
      id: this.#nextId++,
      dueMs: this.#monotonicMs + Math.max(0, delayMs),
      run: callback,
      periodMs,
      pending: true,
    };
    if (timer.dueMs === this.#monotonicMs) this.#livelock.noteScheduler();
    this.#timers.add(timer);
    if (periodMs === 0) this.#foreground++;
    return () => {
      if (this.#timers.cancel(timer) && timer.periodMs === 0) this.#foreground--;
    };
  }

  async #move(targetMs: number, isSettled: boolean): Promise<void> {
    this.#begin();
    try {
      if (!isSettled) await this.#settle();
      while ((this.#timers.peek()?.dueMs ?? Infinity) <= targetMs) {
        this.#fireNext();
        await this.#settle();
      }
      this.#moveTo(targetMs);
    } finally {
      this.#running = false;
    }
  }

  /** Fires the next timer, and with it those that were set for the very same instant, as a real loop does. */
  #fireNext(): void {
    const { dueMs } = this.#timers.peek()!;
    const setBefore = this.#nextId;
    this.#moveTo(dueMs);
    for (let timer = this.#timers.peek(); timer?.dueMs === dueMs && timer.id < setBefore; timer = this.#timers.peek()) {
      this.#timers.pop();
      if (timer.periodMs === 0) this.#foreground--;
      else this.#timers.addAgain(timer, { id: this.#nextId++, dueMs: dueMs + timer.periodMs });
      this.#livelock.count();
      timer.run();
    }
  }

  #moveTo(targetMs: number): void {
    if (targetMs <= this.#monotonicMs) return;
    this.#monotonicMs = targetMs;
    this.#livelock.reset(this.#timers.size);
  }

  async #settle(): Promise<void> {
    let seen: number;
    do {
      seen = this.#activity;
      await new Promise((resolve) => realSetImmediate(resolve));
      if (this.#busy.size > 0) await this.#idle();
      this.#livelock.check();
    } while (seen !== this.#activity);
  }

  #idle(): Promise<void> {
    return new Promise((resolve, reject) => {
      const watchdog = realSetTimeout(() => {
        this.#onIdle = undefined;
        reject(new LivelockError(`virtual time is held still by: ${this.busyHolders.join(', ')}`));
      }, this.#busyTimeoutMs);
      this.#onIdle = () => {
        realClearTimeout(watchdog);
        this.#onIdle = undefined;
        resolve();
      };
    });
  }

  /** Until `#running` is cleared no other move may begin. */
  #begin(): void {
    if (this.#running) throw new Error('the virtual clock is being moved already: await the first move');
    this.#running = true;
    // A mover that moves again has come out of its last move, so that move was not endless.
    this.#livelock.reset(this.#timers.size);
  }
}
