/**
 * Uses Node's sampling of the loop's delay: a timer of libuv whose callback runs no JavaScript. In an idle process
 * its wake-ups would be most of the processor time, so after some quiet seconds sampling pauses until work is
 * expected, or until the loop was found to have been busy.
 */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { CancelTimer, Clock } from '../clock.ts';
import type { EventLoop, HaltMeasurement } from '../event-loop.ts';

/** Halts are noticed by a late timer: one shorter than the period may be missed. */
const PERIOD_MS = 50;
const REPORT_EVERY_MS = 1000;
const LEAST_MS = 10;
/**
 * Sampling pauses after this many seconds without expected work, in each of which the loop ran for less than this
 * share.
 */
const QUIET_REPORTS = 10;
const QUIET_SHARE = 0.05;
/** How often a paused measurement checks whether the loop has been busy. */
const CHECK_PERIOD_MS = 30_000;

/** The delays that Node.js samples while it is enabled, in nanoseconds. */
export interface DelaySampling {
  readonly max: number;
  enable(): void;
  disable(): void;
  reset(): void;
}

export interface EventLoopDeps {
  readonly clock: Pick<Clock, 'setTicker'>;
  createSampling(): DelaySampling;
  /** Milliseconds for which the loop has run, rather than waited, since the process started. */
  activeMs(): number;
}

/** The loop of this thread. */
export function createNodeEventLoop(clock: EventLoopDeps['clock']): EventLoop {
  return createEventLoop({
    clock,
    createSampling: () => monitorEventLoopDelay({ resolution: PERIOD_MS }),
    activeMs: () => performance.eventLoopUtilization().active,
  });
}

/** The same over any source of samples. */
export function createEventLoop(deps: EventLoopDeps): EventLoop {
  return { onHalt: (listener) => new SampledHalts(deps, listener) };
}

class SampledHalts implements HaltMeasurement {
  readonly #deps: EventLoopDeps;
  readonly #listener: (haltMs: number) => void;
  readonly #sampling: DelaySampling;
  #cancel: CancelTimer;
  #activeMs = 0;
  #isResting = false;
  #isWorkExpected = false;
  #quietReports = 0;
  #hasEnded = false;

  constructor(deps: EventLoopDeps, listener: (haltMs: number) => void) {
    this.#deps = deps;
    this.#listener = listener;
    this.#sampling = deps.createSampling();
    this.#cancel = this.#sample();
  }

  expectWork(): void {
    this.#isWorkExpected = true;
    if (this.#isResting && !this.#hasEnded) this.#wake();
  }

  stop(): void {
    this.#hasEnded = true;
    this.#cancel();
    this.#sampling.disable();
  }

  #sample(): CancelTimer {
    this.#isResting = false;
    this.#quietReports = 0;
    this.#activeMs = this.#deps.activeMs();
    this.#sampling.reset();
    this.#sampling.enable();
    return this.#deps.clock.setTicker(REPORT_EVERY_MS, () => this.#report());
  }

  #wake(): void {
    this.#cancel();
    this.#cancel = this.#sample();
  }

  #report(): void {
    const haltMs = this.#sampling.max / 1e6 - PERIOD_MS;
    this.#sampling.reset();
    const isQuiet = this.#isQuietSince(REPORT_EVERY_MS) && !this.#isWorkExpected;
    this.#isWorkExpected = false;
    this.#quietReports = isQuiet ? this.#quietReports + 1 : 0;
    if (this.#quietReports >= QUIET_REPORTS) this.#rest();
    if (haltMs >= LEAST_MS) this.#listener(haltMs);
  }

  #rest(): void {
    this.#isResting = true;
    this.#cancel();
    this.#sampling.disable();
    this.#cancel = this.#deps.clock.setTicker(CHECK_PERIOD_MS, () => {
      if (!this.#isQuietSince(CHECK_PERIOD_MS)) this.#wake();
    });
  }

  #isQuietSince(periodMs: number): boolean {
    const beforeMs = this.#activeMs;
    this.#activeMs = this.#deps.activeMs();
    return this.#activeMs - beforeMs < periodMs * QUIET_SHARE;
  }
}
