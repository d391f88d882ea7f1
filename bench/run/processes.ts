// What processes use, read from /proc: resident memory, and CPU time to the nanosecond from each thread's schedstat.
import { readdirSync, readFileSync } from 'node:fs';

import { sleep } from './wait.ts';

/** One of keelson's processes. */
export interface ProcessUsage {
  readonly name: 'keelson' | 'dns' | 'spawner';
  readonly pid: number;
  /** Resident, its share of files that other processes map too counted whole. */
  readonly residentMb: number;
  /** Of that: pages of its own, which no file backs. */
  readonly anonymousMb: number;
  /** Of one core, over the sample. */
  readonly cpuPercent: number;
}

/** Samples keelson's own processes for so long; containerd and what it runs are not among them. */
export async function sampleProcesses(
  { pid, dataDir }: { pid: number; dataDir: string },
  durationMs: number,
): Promise<readonly ProcessUsage[]> {
  const found = ownProcesses(pid, dataDir);
  const startedMs = performance.now();
  const before = found.map((each) => cpuMs(each.pid));
  await sleep(durationMs);
  const elapsedMs = performance.now() - startedMs;
  return found.map((each, index) => ({
    ...each,
    ...memoryOf(each.pid),
    cpuPercent: ((cpuMs(each.pid) - (before[index] ?? 0)) / elapsedMs) * 100,
  }));
}

function ownProcesses(pid: number, dataDir: string): Pick<ProcessUsage, 'name' | 'pid'>[] {
  const found: Pick<ProcessUsage, 'name' | 'pid'>[] = [{ name: 'keelson', pid }];
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const command = text(`/proc/${name}/cmdline`);
    if (command.includes('dns-server') && command.includes(dataDir)) found.push({ name: 'dns', pid: Number(name) });
    const parent = Number(/^PPid:\s+(\d+)/m.exec(text(`/proc/${name}/status`))?.[1]);
    if (parent === pid && /spawner\.(js|ts)/.test(command)) found.push({ name: 'spawner', pid: Number(name) });
  }
  return found;
}

/**
 * What the processes take of the machine together: their own pages, and the file pages of the one that maps most. They run
 * the same program from the same files, whose pages the kernel keeps once, so a sum of resident sets would count them thrice.
 */
export function memoryTogetherMb(processes: readonly ProcessUsage[]): number {
  const own = processes.reduce((sum, each) => sum + each.anonymousMb, 0);
  return own + Math.max(0, ...processes.map((each) => each.residentMb - each.anonymousMb));
}

function memoryOf(pid: number): Pick<ProcessUsage, 'residentMb' | 'anonymousMb'> {
  const rollup = text(`/proc/${pid}/smaps_rollup`);
  const megabytes = (name: string): number =>
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1] ?? 0) * 1024) / 1e6;
  return { residentMb: megabytes('Rss'), anonymousMb: megabytes('Anonymous') };
}

/** CPU time of a process; of threads that ended meanwhile it knows nothing, which an idle process has none of. */
function cpuMs(pid: number): number {
  let ns = 0;
  for (const thread of list(`/proc/${pid}/task`))
    ns += Number(text(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0] ?? 0);
  return ns / 1e6;
}

function text(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // The process has ended.
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
