/** The process port with programs as functions, and daemons as entries in a table. */
import { onAbort } from '../../base/abort.ts';
import type { Clock } from '../clock.ts';
import type { DaemonOptions, Exec, ExecOptions, ExecResult } from '../exec.ts';

/** One start of a program. */
export interface Invocation {
  readonly file: string;
  readonly args: readonly string[];
  readonly options: ExecOptions;
}

/** The result of a scripted program; omitted fields mean success without output. */
export type SimProgram = (invocation: Invocation) => Partial<ExecResult> | Promise<Partial<ExecResult>>;

/** A started daemon. */
export interface SimDaemon {
  readonly pid: number;
  readonly file: string;
  readonly args: readonly string[];
  readonly options: DaemonOptions;
  /** Signals sent to it, in order. SIGTERM and SIGKILL end it. */
  readonly signals: string[];
  alive: boolean;
}

/** The process port of a simulated host. */
export interface SimExec extends Exec {
  /** Installs (or replaces) a program, found by its whole path or by its base name. */
  program(name: string, program: SimProgram): void;
  /** Every start so far, oldest first. */
  readonly invocations: Invocation[];
  readonly daemons: readonly SimDaemon[];
}

const DEFAULT_TIMEOUT_MS = 60_000;

/** A host without programs: every start fails with ENOENT. */
export function createSimExec(clock: Clock): SimExec {
  const programs = new Map<string, SimProgram>();
  const invocations: Invocation[] = [];
  const daemons: SimDaemon[] = [];
  const find = (file: string): SimProgram => {
    const program = programs.get(file) ?? programs.get(file.slice(file.lastIndexOf('/') + 1));
    if (program === undefined) throw Object.assign(new Error(`spawn ${file} ENOENT`), { code: 'ENOENT', path: file });
    return program;
  };
  const kill: Exec['kill'] = (pid, signal) => {
    const daemon = daemons.find((candidate) => candidate.pid === pid && candidate.alive);
    if (daemon === undefined) return false;
    if (signal === 0) return true;
    daemon.signals.push(signal);
    if (signal !== 'SIGHUP') daemon.alive = false;
    return true;
  };
  return {
    invocations,
    daemons,
    program: (name, program) => void programs.set(name, program),
    async run(file, args, options = {}) {
      options.signal?.throwIfAborted();
      const program = find(file);
      const invocation = { file, args, options };
      invocations.push(invocation);
      return runProgram(clock, program, invocation);
    },
    ownProgram: (name) => [name],
    async startDaemon(file, args, options) {
      find(file);
      const daemon = { pid: 1000 + daemons.length, file, args, options, signals: [], alive: true };
      daemons.push(daemon);
      return daemon.pid;
    },
    kill,
    killDaemon: (pid) => kill(pid, 'SIGKILL'),
  };
}

/** Ends with the program, its deadline or the signal, whichever is first. */
async function runProgram(clock: Clock, program: SimProgram, invocation: Invocation): Promise<ExecResult> {
  const { signal, timeoutMs = DEFAULT_TIMEOUT_MS } = invocation.options;
  const { promise, resolve, reject } = Promise.withResolvers<ExecResult>();
  const cancel = clock.setTimer(timeoutMs, () => resolve({ exitCode: 137, stdout: '', stderr: '', timedOut: true }));
  const unhook = onAbort(signal, () => reject(signal!.reason));
  Promise.resolve()
    .then(() => program(invocation))
    .then((result) => resolve({ exitCode: 0, stdout: '', stderr: '', timedOut: false, ...result }), reject);
  try {
    return await promise;
  } finally {
    cancel();
    unhook();
  }
}
