/**
 * Which process starts the instance again when it ends abnormally: noted beside the control socket, for commands that must
 * end it between two runs. The start time tells a process from a later one with the same id.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTimeIn } from '../../platform/process-identity.ts';
import { controlDirOf, ownControlDir } from './control-place.ts';

const FILE = 'supervisor';

/** Notes the supervisor of a data directory whose lock this process holds. */
export function noteSupervisor(dataDir: string, pid: number): void {
  writeFileSync(join(ownControlDir(dataDir), FILE), `${pid} ${startTimeOf(pid)}\n`, { mode: 0o600 });
}

/** Before the lock's release by an end that is in order. */
export function forgetSupervisor(dataDir: string): void {
  rmSync(join(ownControlDir(dataDir), FILE), { force: true });
}

/** The living supervisor of a data directory. Throws `PreflightError` for another user's. */
export function supervisorOf(dataDir: string): number | undefined {
  const dir = controlDirOf(dataDir);
  if (dir === undefined) return undefined;
  const [pid = '', startTime] = readIfThere(join(dir, FILE)).trim().split(' ');
  return /^\d+$/.test(pid) && startTime !== '' && startTimeOf(Number(pid)) === startTime ? Number(pid) : undefined;
}

/** In clock ticks since the machine's start; '' for a process that has ended. */
function startTimeOf(pid: number): string {
  return startTimeIn(readIfThere(`/proc/${pid}/stat`));
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
