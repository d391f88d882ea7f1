/**
 * The skewed clock of one machine: its wall clock differs from that of the others by a fixed time; timers and monotonic time are
 * common. Setting it is a jump of this machine's wall clock only.
 */
import type { CancelTimer, Clock } from '../clock.ts';

/** A clock that can be set apart from the one beneath it. */
export interface SkewedClock extends Clock {
  /** Sets the difference from now on; 0: none. */
  setSkew(skewMs: number): void;
}

/** Jumps of less are none: time servers steer them away. */
const NOTICED_JUMP_MS = 1000;

/** Makes a clock over another one, right at first. */
export function createSkewedClock(beneath: Clock): SkewedClock {
  let skewMs = 0;
  const listeners = new Set<(jumpMs: number) => void>();
  return {
    nowMs: () => beneath.nowMs() + skewMs,
    monotonicMs: () => beneath.monotonicMs(),
    setTimer: (delayMs, callback) => beneath.setTimer(delayMs, callback),
    setTicker: (periodMs, callback) => beneath.setTicker(periodMs, callback),
    sleep: (delayMs, signal) => beneath.sleep(delayMs, signal),
    yield: (flow) => beneath.yield(flow),
    turn: (flow) => beneath.turn(flow),
    holdBusy: (what) => beneath.holdBusy(what),
    onWallJump(listener): CancelTimer {
      const entry = (jumpMs: number): void => listener(jumpMs);
      listeners.add(entry);
      const leave = beneath.onWallJump(entry);
      return () => {
        listeners.delete(entry);
        leave();
      };
    },
    setSkew(ms) {
      const jumpMs = ms - skewMs;
      skewMs = ms;
      if (Math.abs(jumpMs) > NOTICED_JUMP_MS) for (const listener of [...listeners]) listener(jumpMs);
    },
  };
}
