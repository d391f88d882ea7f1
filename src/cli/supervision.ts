/**
 * This process and its supervisor (bin/supervise), which starts it again when it ends abnormally. A supervisor that is
 * killed is replaced by one that adopts this process.
 */
import { spawn } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Exit codes: of an end that nobody foresaw, and of one after which another start may do better. As in sysexits.h. */
export const EXIT_INTERNAL = 70;
const EXIT_TRY_AGAIN = 75;

/** How the run before this one ended. */
export interface LastEnd {
  readonly pid: number;
  /** Undefined where only its end is known, not how it came. Above 128: a signal. */
  readonly exitCode: number | undefined;
  readonly lastedSeconds: number;
}

/** What the supervisor tells its command. */
export interface Supervision {
  /** Restarts since the command was given. */
  readonly restarts: number;
  readonly lastEnd?: LastEnd;
}

type Env = Readonly<Record<string, string | undefined>>;

/** What the environment says; undefined for a process that no supervisor started. */
export function readSupervision(env: Env, ppid: number): Supervision | undefined {
  // What a process started by a supervised one inherits is not meant for it.
  if (env['KEELSON_SUPERVISOR'] !== String(ppid)) return undefined;
  const restarts = Number(env['KEELSON_RESTARTS'] ?? 0);
  const [pid = '', code = '', lasted = ''] = (env['KEELSON_LAST_END'] ?? '').split(' ');
  if (restarts === 0 || pid === '') return { restarts };
  const exitCode = code === 'unknown' ? undefined : Number(code);
  return { restarts, lastEnd: { pid: Number(pid), exitCode, lastedSeconds: Number(lasted) } };
}

/** Of this process. Read once: the supervisor may be gone later. */
export const supervision = readSupervision(process.env, process.ppid);

let isServing = false;

/** From now on a failure of this process is no failed start: its supervisor starts it again. */
export function markServing(): void {
  isServing = true;
}

/** The exit code with which a failure ends this process. */
export function failureCode(code: number): number {
  const tryAgain = supervision !== undefined && (isServing || supervision.restarts > 0);
  return code === 1 && tryAgain ? EXIT_TRY_AGAIN : code;
}

/** The command line of this process below a supervisor. */
export function supervisedCommand(args: readonly string[], adopted?: number): readonly string[] {
  const program = realpathSync(process.argv[1] ?? '');
  const adopt = adopted === undefined ? [] : ['--adopt', String(adopted)];
  return [join(dirname(program), 'supervise'), ...adopt, process.execPath, ...process.execArgv, program, ...args];
}

const CHECK_PERIOD_MS = 1000;

/** What keeping a supervisor takes. */
export interface SupervisorWatch {
  /** The service manager started the supervisor: when that is gone, this process ends in order, and the unit starts anew. */
  readonly hasServiceManager: boolean;
  lost(): void;
  /** Begins that end. */
  stop(): void;
  /** Runs with the pid of each supervisor. */
  found(pid: number): void;
}

/** Looks after the supervisor of this process; the result ends that, before an end that is in order. */
export function keepSupervisor({ hasServiceManager, lost, stop, found }: SupervisorWatch): () => void {
  if (supervision === undefined) return () => undefined;
  const first = process.ppid;
  found(first);
  let [isAlive, end] = [() => process.ppid === first, (): void => undefined];
  const check = (): void => {
    if (isAlive()) return;
    lost();
    if (hasServiceManager) {
      clearInterval(timer);
      return stop();
    }
    const adopting = adopt();
    found(adopting.pid ?? 0);
    isAlive = () => adopting.exitCode === null && adopting.signalCode === null;
    end = () => adopting.stdin?.write('end\n');
  };
  const timer = setInterval(check, CHECK_PERIOD_MS).unref();
  return () => {
    clearInterval(timer);
    end();
  };
}

/** It waits for the end of the pipe, which the kernel closes with this process. */
function adopt(): ReturnType<typeof spawn> {
  const env = { ...process.env, KEELSON_RESTARTS: String(supervision?.restarts ?? 0) };
  const args = supervisedCommand(process.argv.slice(2), process.pid);
  const adopting = spawn('/bin/sh', args, { stdio: ['pipe', 'inherit', 'inherit'], detached: true, env });
  adopting.on('error', () => undefined); // Tried again at the next look.
  adopting.stdin?.on('error', () => undefined);
  adopting.unref();
  (adopting.stdin as unknown as { unref?(): void } | null)?.unref?.();
  return adopting;
}
