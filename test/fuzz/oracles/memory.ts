// Resident memory must fall again when the clients rest.
import { setTimeout as pause } from 'node:timers/promises';
import type { Problem } from './answers.ts';
import { residentMib } from './process.ts';

/** The permitted growth since the start: compiled code, stored objects, pages that the allocator keeps. */
const BOUND_MIB = 300;

/** Collections of the old generation run when there is no work; caches of responses expire within half a minute. */
const REST_MS = 60_000;

interface MemoryCheck {
  readonly startedMib: number;
  readonly report: (line: string) => void;
}

/** Waits until the process is within the bounds; a problem when it is not after the rest. */
export async function memoryKept(pid: number, { startedMib, report }: MemoryCheck): Promise<Problem | undefined> {
  const endMs = performance.now() + REST_MS;
  const busyMib = residentMib(pid);
  let nowMib = busyMib;
  while (nowMib > startedMib + BOUND_MIB && performance.now() < endMs) {
    await pause(1000);
    nowMib = residentMib(pid);
  }
  const detail = `${startedMib} MiB at the start, ${busyMib} MiB at the end, ${nowMib} MiB after a rest`;
  report(detail);
  return nowMib > startedMib + BOUND_MIB ? { signature: 'resident memory', detail } : undefined;
}
