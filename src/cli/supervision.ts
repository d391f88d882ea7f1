/**
 * This process and its supervisor (bin/supervise), which starts it again when it ends abnormally. A supervisor that is
 * killed is replaced by one that adopts this process.
 */
import { spawn } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Exit codes of an unforeseen error, and of a failure after which a restart may succeed. As in sysexits.h. */
export const EXIT_INTERNAL = 70;
const EXIT_TRY_AGAIN = 75;

/** How the run before this one ended. */
export interface LastEnd {
  readonly pid: number;
  /** Undefined when the cause is unknown. Above 128: ended by a signal. */
  readonly exitCode: number | undefined;
  readonly lastedSeconds: number;
}

/** Facts that the supervisor passes in the environment. */
export interface Supervision {
  /** Restarts since the command was given. */
  readonly restarts: number;
  readonly lastEnd?: LastEnd;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Reads the environment; undefined for a process without a supervisor. */
export function readSupervision(env: Env, ppid: number): Supervision | undefined {
  // A process inherits these variables from a supervised one, for which they are not meant.
  if (env['KEELSON_SUPERVISOR'] !== String(ppid)) return undefined;
  const restarts = Number(env['KEELSON_RESTARTS'] ?? 0);
  const [pid = '', code = '', lasted = ''] = (env['KEELSON_LAST_END'] ?? '').split(' ');
  if (restarts === 0 || pid === '') return { restarts };
  const exitCode = code === 'unknown' ? undefined : Number(code);
  return { restarts, lastEnd: { pid: Number(pid), exitCode, lastedSeconds: Number(lasted) } };
}

/** Supervision of this process. Read once, since the supervisor may end later. */
export const supervision = readSupervision(process.env, process.ppid);

let isServing = false;

/** Marks the start as complete: the supervisor restarts the process after a later failure. */
export function markServing(): void {
  isServing = true;
}

/** Exit code for a failure of this process. */
export function failureCode(code: number): number {
  const tryAgain = supervision !== undefined && (isServing || supervision.restarts > 0);
  return code === 1 && tryAgain ? EXIT_TRY_AGAIN : code;
}

/** The command line of this process below a supervisor. */
export function supervisedCommand(args: readonly string[], adopted?: number): readonly string[] {
  const program = realpathSync(process.argv[1] ?? '');
  const adoptArguments = adopted === undefined ? [] : ['--adopt', String(adopted)];
  return [
    join(dirname(program), 'supervise'),
    ...adoptArguments,
    process.execPath,
    ...process.execArgv,
    program,
    ...args,
  ];
}

const CHECK_PERIOD_MS = 1000;

/** Dependencies of keeping a supervisor. */
export interface SupervisorWatch {
  /** The service manager started the supervisor. When that ends, this process stops in order, and the unit is restarted. */
  readonly hasServiceManager: boolean;
  lost(): void;
  /** Starts that stop. */
  stop(): void;
  /** Runs with the pid of each supervisor. */
  found(pid: number): void;
}

/** Replaces the supervisor of this process when it ends. The result ends the supervisor, before an orderly stop. */
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

/** The supervisor waits for the end of the pipe, which the kernel closes when this process ends. */
function adopt(): ReturnType<typeof spawn> {
  const env = { ...process.env, KEELSON_RESTARTS: String(supervision?.restarts ?? 0) };
  const args = supervisedCommand(process.argv.slice(2), process.pid);
  const adopting = spawn('/bin/sh', args, { stdio: ['pipe', 'inherit', 'inherit'], detached: true, env });
  adopting.on('error', () => undefined); // Tried again at the next look.
  adopting.stdin?.on('error', () => undefined);
  adopting.unref();
  (adopting.stdin as { unref?(): void } | null)?.unref?.();
  return adopting;
}
