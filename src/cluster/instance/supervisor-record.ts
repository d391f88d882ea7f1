/**
 * The record of an instance's supervisor beside the control socket, for commands that must end it between two runs.
 * The start time distinguishes it from a later process with the same pid.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTimeIn } from '../../platform/process-identity.ts';
import { controlDirOf, ownControlDir } from './control-place.ts';

const FILE = 'supervisor';

/** Records the supervisor of a data directory whose lock this process holds. */
export function writeSupervisorRecord(dataDir: string, pid: number): void {
  writeFileSync(join(ownControlDir(dataDir), FILE), `${pid} ${startTimeOf(pid)}\n`, { mode: 0o600 });
}

/** Called before an orderly stop releases the lock. */
export function forgetSupervisor(dataDir: string): void {
  rmSync(join(ownControlDir(dataDir), FILE), { force: true });
}

/** The running supervisor of a data directory. Throws `PreflightError` for another user's. */
export function supervisorOf(dataDir: string): number | undefined {
  const dir = controlDirOf(dataDir);
  if (dir === undefined) return undefined;
  const [pid = '', startTime] = readIfThere(join(dir, FILE)).trim().split(' ');
  return /^\d+$/.test(pid) && startTime !== '' && startTimeOf(Number(pid)) === startTime ? Number(pid) : undefined;
}

/** In clock ticks since boot; '' for a process that has ended. */
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
