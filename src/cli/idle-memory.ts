/**
 * Returns memory after a busy time. V8 keeps the space of its young objects as large as at the busiest moment (67 MB
 * were seen, nearly empty) and collects nothing while nothing is allocated; a full collection shrinks it, and frees
 * what dead objects hold outside of the heap (25 MB after a start). It blocks the process: a thorough collection,
 * which alone returns pages to the system, takes 2 ms and 3.5 ms of processor time per MB of live objects (30 MB: 60
 * ms; 250 MB, of 100,000 objects: 450 ms), a plain one half of that. So it happens only when the process is nearly
 * idle and after much more work than that, and a thorough one only after a busy time, when little is live.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { CancelTimer, Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';

const CHECK_PERIOD_MS = 10_000;
/** A process that used less than this share of the processor since the last check is idle. */
const IDLE_SHARE = 0.03;
const WORTHWHILE_BYTES = 8 * 1024 * 1024;
/** A thorough collection follows where no more than this is live ... */
const THOROUGH_BYTES = 96 * 1024 * 1024;
/** ... or no more than this, while so much more is resident that a collection of a second pays off. */
const RARELY_THOROUGH_BYTES = 256 * 1024 * 1024;
const MUCH_RESIDENT_BYTES = 384 * 1024 * 1024;
/** ... after more processor time than this: a start takes less. */
const BUSY_WORK_MS = 5_000;
const WORTHWHILE_WORK_MS = 1_000;
const BETWEEN_COLLECTIONS_MS = 20_000;
/**
 * This long after a busy time no watch resumes from older changes: caches release them, and memory is collected
 * again.
 */
const AFTER_BUSY_MS = 150_000;

/** Measurements of the process since the last check. */
export interface MemorySample {
  /** Processor time divided by elapsed time; 1 is one core. */
  readonly cpuShare: number;
  /** Bytes of heap in use, garbage included. */
  readonly usedBytes: number;
  /** Bytes of heap that are reserved and unused, and how many of them the last collection left. */
  readonly unusedBytes: number;
  readonly leftBytes: number;
  /** Processor time since the last collection. */
  readonly workedMs: number;
  readonly sinceCollectionMs: number;
  /** Whether changes kept for resuming watches were released and not collected yet. */
  readonly afterBusyDue: boolean;
}

/** Whether a collection is due. Pure. */
export function shouldCollect({ cpuShare, workedMs, sinceCollectionMs, afterBusyDue, ...heap }: MemorySample): boolean {
  // Memory that one collection leaves, the next would leave too: collecting for it would never end.
  const returnsUnused = heap.usedBytes <= THOROUGH_BYTES && heap.unusedBytes - heap.leftBytes > WORTHWHILE_BYTES;
  const worthwhile = returnsUnused || workedMs > WORTHWHILE_WORK_MS || afterBusyDue;
  return cpuShare < IDLE_SHARE && worthwhile && sinceCollectionMs >= BETWEEN_COLLECTIONS_MS;
}

type HeapBytes = Pick<MemorySample, 'usedBytes' | 'unusedBytes'> & {
  /** Resident memory of the whole process. */
  readonly residentBytes: number;
};

/** Resource usage of a process, and its garbage collection. */
export interface ProcessMemory {
  /** Processor time since its start, in milliseconds. */
  cpuMs(): number;
  heap(): HeapBytes;
  /** A thorough collection returns unused pages to the operating system. */
  collect(isThorough: boolean): void;
}

export interface IdleMemory {
  /** Default: this process. */
  readonly memory?: ProcessMemory;
  /** Releases caches before the collection. */
  release?(): void;
}

/** Checks the process periodically until cancelled. */
export function returnMemoryWhenIdle(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  { memory = thisProcess(), release = () => undefined }: IdleMemory = {},
): CancelTimer {
  let cpuMs = memory.cpuMs();
  let checkedMs = clock.monotonicMs();
  let collectedMs = Number.NEGATIVE_INFINITY;
  let workedMs = cpuMs;
  let leftBytes = 0;
  /** Time of the first collection after the last busy time; undefined after the second one. */
  let busyEndedMs: number | undefined;
  return clock.setTicker(CHECK_PERIOD_MS, () => {
    const nowMs = clock.monotonicMs();
    const usedMs = memory.cpuMs() - cpuMs;
    workedMs += usedMs;
    const sample = {
      cpuShare: usedMs / (nowMs - checkedMs),
      ...memory.heap(),
      leftBytes,
      workedMs,
      sinceCollectionMs: nowMs - collectedMs,
      afterBusyDue: busyEndedMs !== undefined && nowMs - busyEndedMs >= AFTER_BUSY_MS,
    };
    cpuMs += usedMs;
    checkedMs = nowMs;
    if (!shouldCollect(sample)) return;
    collectedMs = nowMs;
    const wasBusy = workedMs > BUSY_WORK_MS;
    if (wasBusy) busyEndedMs = nowMs;
    else if (sample.afterBusyDue) busyEndedMs = undefined;
    workedMs = 0;
    release();
    releaseMemory(clock, memory, wasBusy || sample.afterBusyDue).then(
      (heap) => (leftBytes = heap.unusedBytes),
      // Memory that could not be released stays.
      (error: unknown) => log.unexpected('memory could not be released', error),
    );
  });
}

/**
 * Runs each release in a turn of its own: a WeakRef holds its target until the turn ends, and other work waits less.
 */
async function releaseMemory(clock: Clock, memory: ProcessMemory, isThorough: boolean): Promise<HeapBytes> {
  await clock.yield();
  memory.collect(false);
  await clock.yield();
  if (isThorough && returnsMuch(memory.heap())) memory.collect(true);
  return memory.heap();
}

function returnsMuch({ usedBytes, residentBytes }: HeapBytes): boolean {
  if (usedBytes <= THOROUGH_BYTES) return true;
  return usedBytes <= RARELY_THOROUGH_BYTES && residentBytes - usedBytes > MUCH_RESIDENT_BYTES;
}

export function thisProcess(): ProcessMemory {
  let collect: ProcessMemory['collect'] | undefined;
  return {
    cpuMs() {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    heap() {
      const { heapTotal, heapUsed, rss } = process.memoryUsage();
      return { usedBytes: heapUsed, unusedBytes: heapTotal - heapUsed, residentBytes: rss };
    },
    collect: (isThorough) => (collect ??= collector())(isThorough),
  };
}

/**
 * V8's own collection on demand, which Node.js offers only by a flag. The thorough kind is V8's last resort: after
 * any other V8 keeps the emptied pages in a pool (130 MB after a busy minute), resident, until it chooses to reduce
 * its memory.
 */
function collector(): ProcessMemory['collect'] {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as (options: { type: 'major'; flavor: 'last-resort' | 'regular' }) => void;
  setFlagsFromString('--no-expose-gc');
  return (isThorough) => gc({ type: 'major', flavor: isThorough ? 'last-resort' : 'regular' });
}
