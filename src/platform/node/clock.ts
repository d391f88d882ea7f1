/**
 * The real clock. Timers keep no process alive, may be longer than the 24.8 days `setTimeout` holds (it fires longer ones
 * at once), and a jump of wall time against monotonic time is noticed while anyone listens.
 */
import type { CancelTimer, Clock } from '../clock.ts';

/** Longest piece of a timer: a day, well below 2^31 ms. */
const maxPieceMs = 24 * 3_600_000;
const jumpCheckMs = 2_000;
const jumpThresholdMs = 1_000;

const nothingToRelease = (): void => undefined;

/** Makes the clock of this process. */
export function createNodeClock(): Clock {
  let originMs = Date.now() - performance.now();
  return {
    nowMs() {
      const preciseMs = originMs + performance.now();
      const wallMs = Date.now();
      // The monotonic clock gives the fraction, the wall clock is right.
      if (Math.abs(preciseMs - wallMs) <= 1) return preciseMs;
      originMs = wallMs - performance.now();
      return wallMs;
    },
    monotonicMs: () => performance.now(),
    setTimer,
    setTicker,
    sleep,
    yield: () => new Promise((resolve) => setImmediate(resolve)),
    holdBusy: () => nothingToRelease,
    onWallJump: createJumpDetector(),
  };
}

function setTimer(delayMs: number, callback: () => void): CancelTimer {
  if (Number.isNaN(delayMs)) throw new RangeError('timer delay is not a number');
  if (delayMs <= maxPieceMs) {
    const timer = setTimeout(callback, Math.max(0, delayMs)).unref();
    return () => clearTimeout(timer);
  }
  const dueMs = performance.now() + delayMs;
  let timer: NodeJS.Timeout;
  const arm = (): void => {
    const leftMs = dueMs - performance.now();
    timer =
      leftMs > maxPieceMs ? setTimeout(arm, maxPieceMs).unref() : setTimeout(callback, Math.max(0, leftMs)).unref();
  };
  arm();
  return () => clearTimeout(timer);
}

function setTicker(periodMs: number, callback: () => void): CancelTimer {
  if (!(periodMs > 0)) throw new RangeError(`ticker period must be positive, got ${periodMs}`);
  if (periodMs > maxPieceMs) {
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
    const onAbort = (): void => {
      cancel();
      reject(signal!.reason);
    };
    const cancel = setTimer(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function createJumpDetector(): Clock['onWallJump'] {
  const listeners = new Set<(jumpMs: number) => void>();
  let stop: CancelTimer | undefined;
  let offsetMs = 0;
  const check = (): void => {
    const nowOffsetMs = Date.now() - performance.now();
    const jumpMs = nowOffsetMs - offsetMs;
    offsetMs = nowOffsetMs;
    if (Math.abs(jumpMs) > jumpThresholdMs) for (const listener of listeners) listener(jumpMs);
  };
  return (listener) => {
    const entry = (jumpMs: number): void => listener(jumpMs);
    listeners.add(entry);
    if (stop === undefined) {
      offsetMs = Date.now() - performance.now();
      stop = setTicker(jumpCheckMs, check);
    }
    return () => {
      listeners.delete(entry);
      if (listeners.size > 0) return;
      stop?.();
      stop = undefined;
    };
  };
}
