/**
 * Gives memory back once a busy time is over. V8 keeps the space of its young objects as large as the busiest moment made
 * it (67 MB were seen, all but empty) and collects nothing while nothing is allocated; a full collection shrinks it, and
 * frees what dead objects hold outside of the heap (25 MB after a start, of which the heap says nothing). One takes some
 * 30 ms, so it happens only when the process does next to nothing, when there may be much to gain, and rarely.
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
  /** By how much the process is larger than it was since the last collection; infinite before the first. */
  readonly grownBytes: number;
  readonly sinceCollectionMs: number;
}

/** Whether a collection is due. Pure. */
export function shouldCollect({ cpuShare, unusedBytes, grownBytes, sinceCollectionMs }: MemoryLook): boolean {
  const worthwhile = Math.max(unusedBytes, grownBytes) > WORTHWHILE_BYTES;
  return cpuShare < IDLE_SHARE && worthwhile && sinceCollectionMs >= BETWEEN_COLLECTIONS_MS;
}

/** A process's own use. */
export interface ProcessMemory {
  /** CPU time since its start, in milliseconds. */
  cpuMs(): number;
  /** Bytes of heap that are held and not used. */
  unusedBytes(): number;
  /** Bytes of memory it has, in the heap and outside. */
  residentBytes(): number;
  collect(): void;
}

/** Looks from time to time until cancelled. */
export function returnMemoryWhenIdle(clock: Clock, memory: ProcessMemory = thisProcess()): CancelTimer {
  let cpuMs = memory.cpuMs();
  let lookedMs = clock.monotonicMs();
  let collectedMs = Number.NEGATIVE_INFINITY;
  let smallestBytes = Number.NEGATIVE_INFINITY;
  return clock.setTicker(CHECK_PERIOD_MS, () => {
    const nowMs = clock.monotonicMs();
    const usedMs = memory.cpuMs() - cpuMs;
    const residentBytes = memory.residentBytes();
    // Pages go back some time after a collection: the smallest size since is what the next is measured by.
    smallestBytes = Math.min(smallestBytes, residentBytes);
    const look = {
      cpuShare: usedMs / (nowMs - lookedMs),
      unusedBytes: memory.unusedBytes(),
      grownBytes: residentBytes - smallestBytes,
      sinceCollectionMs: nowMs - collectedMs,
    };
    cpuMs += usedMs;
    lookedMs = nowMs;
    if (!shouldCollect(look)) return;
    collectedMs = nowMs;
    memory.collect();
    smallestBytes = memory.residentBytes();
  });
}

/** The process this runs in. */
export function thisProcess(): ProcessMemory {
  let collect: (() => void) | undefined;
  return {
    cpuMs() {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    unusedBytes() {
      const { heapTotal, heapUsed } = process.memoryUsage();
      return heapTotal - heapUsed;
    },
    residentBytes: () => process.memoryUsage.rss(),
    collect: () => (collect ??= collector())(),
  };
}

/** V8's own collection on demand, which Node.js offers by flag alone. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  return gc;
}
