// The resources of processes, from /proc: resident memory, and CPU time to the nanosecond from each thread's schedstat.
import { readdirSync, readFileSync } from 'node:fs';

import { sleep } from './wait.ts';

/** One of keelson's processes. */
export interface ProcessUsage {
  readonly name: 'keelson' | 'dns' | 'spawner';
  readonly pid: number;
  /** Resident memory, including the full size of shared file pages. */
  readonly residentMb: number;
  /** The private pages of it, which no file backs. */
  readonly anonymousMb: number;
  /** Percent of one core, over the sample. */
  readonly cpuPercent: number;
}

/** Samples keelson's own processes for this time, without containerd and its children. */
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
 * The memory of all processes together: their private pages, and the file pages of the one that maps most. They run the same
 * program from the same files, whose pages the kernel keeps once, so a sum of resident sets would count them several times.
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

/** CPU time of a process, without threads that ended meanwhile, which an idle process does not have. */
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
    return ''; // the process has ended
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
