/**
 * Distinguishes a process that this program started from another with the same id, and from one that another user
 * started with the same command line: by its user and start time in /proc.
 */
import type { Files } from './files.ts';

/** Identifies a process among all since the machine's boot, besides its id. */
export interface ProcessIdentity {
  /** In clock ticks since the machine's start. */
  readonly startTime: string;
  readonly command: readonly string[];
}

/** The recorded id of a process. Records of earlier versions have no start time. */
export interface RecordedProcess {
  readonly pid: number;
  readonly startTime?: string | undefined;
}

/** The process with this id; undefined when it does not exist, has ended, or belongs to another user. */
export async function ownProcess(files: Files, pid: number): Promise<ProcessIdentity | undefined> {
  if (!(pid > 0)) return undefined;
  const read = (path: string): Promise<string> => files.readText(path).catch(() => '');
  const startTime = startTimeIn(await read(`/proc/${pid}/stat`));
  const user = userIn(await read(`/proc/${pid}/status`));
  if (startTime === '' || user === undefined || user !== userIn(await read('/proc/self/status'))) return undefined;
  const command = (await read(`/proc/${pid}/cmdline`)).replace(/\0$/, '').split('\0');
  // Read last: the process has not ended in between, so everything is about one process.
  return startTimeIn(await read(`/proc/${pid}/stat`)) === startTime ? { startTime, command } : undefined;
}

/** The recorded process, if it still runs. */
export async function recordedProcess(
  files: Files,
  { pid, startTime }: RecordedProcess,
): Promise<ProcessIdentity | undefined> {
  const processIdentity = await ownProcess(files, pid);
  return startTime === undefined || processIdentity?.startTime === startTime ? processIdentity : undefined;
}

/**
 * Whether the recorded process runs, by its start time alone, which needs one file. False without a recorded start
 * time.
 */
export async function stillRuns(files: Pick<Files, 'readText'>, { pid, startTime }: RecordedProcess): Promise<boolean> {
  if (!(pid > 0) || startTime === undefined) return false;
  return startTimeIn(await files.readText(`/proc/${pid}/stat`).catch(() => '')) === startTime;
}

/** The start time in a process's `stat`; '' for one that has ended. */
export function startTimeIn(stat: string): string {
  const [state = 'Z', ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return stat === '' || state === 'Z' ? '' : (fields[18] ?? '');
}

/** The effective user in a process's `status`. */
function userIn(status: string): string | undefined {
  return /^Uid:\s+\d+\s+(\d+)/m.exec(status)?.[1];
}
