/**
 * The real clock. Timers keep no process alive and may be longer than the 24.8 days of `setTimeout` (which fires
 * longer ones at once); jumps of wall time against monotonic time are detected while there are listeners.
 */
import { onAbort } from '../../base/abort.ts';
import type { CancelTimer, Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import { guarded } from '../unexpected.ts';
import { loopTurns } from './loop-turns.ts';

/** Longest piece of a timer: a day, well below 2^31 ms. */
const MAX_PIECE_MS = 24 * 3_600_000;
/** The timer lists of longer durations are freed when their last timer is cancelled. */
const LONG_MS = 60_000;
const JUMP_CHECK_MS = 2_000;
const JUMP_THRESHOLD_MS = 1_000;

const nothingToRelease = (): void => undefined;

type Timers = Pick<Clock, 'setTimer' | 'setTicker'>;

/**
 * The clock of this process. An exception of a callback is logged and ends only that call; without a log it ends the
 * process.
 */
export function createNodeClock(log?: Log): Clock {
  const timers: Timers = log === undefined ? { setTimer, setTicker } : guardedTimers(log);
  let originMs = Date.now() - performance.now();
  return {
    nowMs() {
      const preciseMs = originMs + performance.now();
      const wallMs = Date.now();
      // The monotonic clock gives the fraction, the wall clock the value.
      if (Math.abs(preciseMs - wallMs) <= 1) return preciseMs;
      originMs = wallMs - performance.now();
      return wallMs;
    },
    monotonicMs: () => performance.now(),
    ...timers,
    sleep,
    yield: (flow) => loopTurns.yield(flow),
    turn: (flow) => loopTurns.turn(flow),
    holdBusy: () => nothingToRelease,
    onWallJump: createJumpDetector(timers),
  };
}

function guardedTimers(log: Log): Timers {
  const what = 'a timer threw';
  return {
    setTimer: (delayMs, callback) => setTimer(delayMs, guarded(log, what, callback)),
    setTicker: (periodMs, callback) => setTicker(periodMs, guarded(log, what, callback)),
  };
}

function setTimer(delayMs: number, callback: () => void): CancelTimer {
  if (Number.isNaN(delayMs)) throw new RangeError('timer delay is not a number');
  if (delayMs <= LONG_MS) {
    const timer = setTimeout(callback, Math.max(0, delayMs)).unref();
    return () => clearTimeout(timer);
  }
  if (delayMs <= MAX_PIECE_MS) return setLongTimer(delayMs, callback);
  const dueMs = performance.now() + delayMs;
  let cancel: CancelTimer;
  const arm = (): void => {
    const leftMs = dueMs - performance.now();
    cancel = leftMs > MAX_PIECE_MS ? setLongTimer(MAX_PIECE_MS, arm) : setLongTimer(leftMs, callback);
  };
  arm();
  return () => cancel();
}

/**
 * Sets a long timer such that its list is freed. Node.js has a list of timers for each duration; the empty list of a
 * timer that kept no process alive stays until its duration is over, so that a day of random long timers would leave
 * thousands. The list of a timer that did keep it alive is freed at once.
 */
function setLongTimer(delayMs: number, callback: () => void): CancelTimer {
  let isPending = true;
  const timer = setTimeout(
    () => {
      isPending = false;
      callback();
    },
    Math.max(0, delayMs),
  ).unref();
  return () => {
    if (!isPending) return;
    isPending = false;
    timer.ref();
    clearTimeout(timer);
  };
}

function setTicker(periodMs: number, callback: () => void): CancelTimer {
  if (!(periodMs > 0)) throw new RangeError(`ticker period must be positive, got ${periodMs}`);
  if (periodMs > MAX_PIECE_MS) {
    let cancel: CancelTimer;
    const beat = (): void => {
      cancel = setTimer(periodMs, beat);
      callback();
    };
    cancel = setTimer(periodMs, beat);
    return () => cancel();
  }
  const timer = setInterval(callback, periodMs).unref();
  return () => clearInterval(timer);
}

function sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const cancel = setTimer(delayMs, () => {
      unhook();
      resolve();
    });
    const unhook = onAbort(signal, () => {
      cancel();
      reject(signal!.reason);
    });
  });
}

function createJumpDetector(timers: Timers): Clock['onWallJump'] {
  const listeners = new Set<(jumpMs: number) => void>();
  let stop: CancelTimer | undefined;
  let offsetMs = 0;
  const check = (): void => {
    const nowOffsetMs = Date.now() - performance.now();
    const jumpMs = nowOffsetMs - offsetMs;
    offsetMs = nowOffsetMs;
    if (Math.abs(jumpMs) > JUMP_THRESHOLD_MS)
      for (const listener of listeners) timers.setTimer(0, () => listener(jumpMs));
  };
  return (listener) => {
    const entry = (jumpMs: number): void => listener(jumpMs);
    listeners.add(entry);
    if (stop === undefined) {
      offsetMs = Date.now() - performance.now();
      stop = timers.setTicker(JUMP_CHECK_MS, check);
    }
    return () => {
      listeners.delete(entry);
      if (listeners.size > 0) return;
      stop?.();
      stop = undefined;
    };
  };
}
