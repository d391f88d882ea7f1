/** The unique end of an event's name. Upstream: the nanoseconds of its time in hexadecimal. */
import type { Clock } from '../platform/clock.ts';

/** Makes hexadecimal nanoseconds that rise with every call. */
export function createEventStamps(clock: Clock): () => string {
  let last = 0n;
  return () => {
    const now = BigInt(Math.round(clock.nowMs() * 1000)) * 1000n;
    last = now > last ? now : last + 1n;
    return last.toString(16);
  };
}
