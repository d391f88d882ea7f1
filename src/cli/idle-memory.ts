/**
 * Gives memory back once a busy time is over. V8 keeps the space of its young objects as large as the busiest moment made
 * it (67 MB were seen, all but empty) and collects nothing while nothing is allocated; a full collection shrinks it. One
 * takes some 30 ms, so it happens only when the process does next to nothing, when there is much to gain, and rarely.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { CancelTimer, Clock } from '../platform/clock.ts';

const CHECK_PERIOD_MS = 10_000;
/** Busy for less than this share of the time since the last look is idle. */
const IDLE_SHARE = 0.03;
const WORTHWHILE_BYTES = 8 * 1024 * 1024;
const BETWEEN_COLLECTIONS_MS = 60_000;

/** What was seen of the process since the last look. */
export interface MemoryLook {
  /** CPU time over elapsed time, of one core. */
  readonly cpuShare: number;
  /** Bytes of heap that are held and not used. */
  readonly unusedBytes: number;
  readonly sinceCollectionMs: number;
}

/** Whether a collection is due. Pure. */
export function shouldCollect({ cpuShare, unusedBytes, sinceCollectionMs }: MemoryLook): boolean {
  return cpuShare < IDLE_SHARE && unusedBytes > WORTHWHILE_BYTES && sinceCollectionMs >= BETWEEN_COLLECTIONS_MS;
}

/** Looks from time to time until cancelled. */
export function returnMemoryWhenIdle(clock: Clock): CancelTimer {
  let cpu = process.cpuUsage();
  let lookedMs = clock.monotonicMs();
  let collectedMs = Number.NEGATIVE_INFINITY;
  let collect: (() => void) | undefined;
  return clock.setTicker(CHECK_PERIOD_MS, () => {
    const nowMs = clock.monotonicMs();
    const used = process.cpuUsage(cpu);
    const { heapTotal, heapUsed } = process.memoryUsage();
    const look = {
      cpuShare: (used.user + used.system) / 1000 / (nowMs - lookedMs),
      unusedBytes: heapTotal - heapUsed,
      sinceCollectionMs: nowMs - collectedMs,
    };
    cpu = process.cpuUsage();
    lookedMs = nowMs;
    if (!shouldCollect(look)) return;
    collectedMs = nowMs;
    collect ??= collector();
    collect();
  });
}

/** V8's own collection on demand, which Node.js offers by flag alone. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  return gc;
}
