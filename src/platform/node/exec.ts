/**
 * Runs programs through a small spawner process (see spawner.ts). The spawner starts with `start` or the first use,
 * ends with this process, and is replaced when it crashes; its programs then fail with EPIPE.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { onAbort } from '../../base/abort.ts';
import { createDeferred, type Deferred } from '../../base/deferred.ts';
import type { Exec, ExecOptions, ExecResult, OwnProgram } from '../exec.ts';
import type { Log } from '../log.ts';
import { guarded } from '../unexpected.ts';
import { SPAWNER_FAULT, type SpawnerAnswer, type SpawnerRequest } from './spawner-protocol.ts';

const DEFAULT_TIMEOUT_MS = 60_000;

const OWN_PROGRAMS: Readonly<Record<OwnProgram, URL>> = {
  'change-group': new URL('./change-group-program.ts', import.meta.url),
};

/** The process port, with control over its spawner. */
export interface NodeExec extends Exec {
  /** Starts the spawner now, while this process is small. */
  start(): void;
  /** Ends the spawner and its programs; daemons keep running. */
  close(): void;
}

/** Starts a spawner; what tests put in its place. */
export type StartSpawner = () => ChildProcess;

/** The process port. An exception in handling a spawner's message is logged and ends nothing else. */
export function createNodeExec(log: Log, startSpawner: StartSpawner = spawnSpawner): NodeExec {
  return new SpawnerExec(log, startSpawner);
}

function spawnSpawner(): ChildProcess {
  const entry = fileURLToPath(new URL('./spawner.ts', import.meta.url));
  return spawn(process.execPath, ['--max-semi-space-size=1', '--v8-pool-size=1', entry], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    serialization: 'advanced',
    detached: true,
  });
}

class SpawnerExec implements NodeExec {
  #spawner: ChildProcess | undefined;
  #nextId = 1;
  readonly #pending = new Map<number, Deferred<SpawnerAnswer>>();
  readonly #log: Log;
  readonly #startSpawner: StartSpawner;

  constructor(log: Log, startSpawner: StartSpawner) {
    this.#log = log;
    this.#startSpawner = startSpawner;
  }

  start(): void {
    this.#connected();
  }

  close(): void {
    this.#spawner?.disconnect();
    this.#spawner = undefined;
  }

  async run(file: string, args: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    const { signal, input, env, inheritsEnv, user, cwd, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    signal?.throwIfAborted();
    const id = this.#nextId++;
    const unhook = onAbort(signal, () => {
      this.#spawner?.send({ kind: 'abort', id } satisfies SpawnerRequest);
      this.#settle(id)?.reject(signal!.reason);
    });
    try {
      const answer = await this.#ask({ kind: 'run', id, file, args, input, env, inheritsEnv, user, cwd, timeoutMs });
      if (answer.kind !== 'ended') throw new Error(`spawner answered ${answer.kind}`);
      const { exitCode, stdout, stderr, timedOut } = answer;
      return { exitCode, stdout, stderr, timedOut };
    } finally {
      unhook();
    }
  }

  ownProgram(name: OwnProgram): readonly [string, ...string[]] {
    return [process.execPath, '--max-semi-space-size=1', '--v8-pool-size=1', fileURLToPath(OWN_PROGRAMS[name])];
  }

  async startDaemon(
    file: string,
    args: readonly string[],
    options: Parameters<Exec['startDaemon']>[2],
  ): Promise<number> {
    const { env, cwd, logFile } = options;
    const answer = await this.#ask({ kind: 'daemon', id: this.#nextId++, file, args, env, cwd, logFile });
    if (answer.kind !== 'started') throw new Error(`spawner answered ${answer.kind}`);
    return answer.pid;
  }

  killDaemon(pid: number): boolean {
    // 0 and 1 stand for this process's own group and for all processes.
    if (!Number.isInteger(pid) || pid <= 1) throw new RangeError(`not a pid: ${pid}`);
    try {
      return process.kill(-pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
      throw error;
    }
  }

  kill(pid: number, signal: 'SIGTERM' | 'SIGKILL' | 'SIGHUP' | 0): boolean {
    if (!Number.isInteger(pid) || pid <= 0) throw new RangeError(`not a pid: ${pid}`);
    try {
      process.kill(pid, signal);
      return signal !== 0 || !isZombie(pid);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ESRCH') return false;
      if (code === 'EPERM' && signal === 0) return true;
      throw error;
    }
  }

  async #ask(request: SpawnerRequest): Promise<SpawnerAnswer> {
    const deferred = createDeferred<SpawnerAnswer>();
    this.#pending.set(request.id, deferred);
    try {
      const spawner = this.#connected();
      spawner.channel?.ref();
      spawner.send(request, (error) => {
        if (error) this.#settle(request.id)?.reject(error);
      });
    } catch (error) {
      this.#settle(request.id); // no spawner can be started, or the request cannot be sent
      throw error;
    }
    const answer = await deferred.promise;
    if (answer.kind === 'failed') throw this.#failure(request, answer);
    return answer;
  }

  /** Counts an error of the spawner itself, which has no metrics. */
  #failure({ kind }: SpawnerRequest, { code, message }: Extract<SpawnerAnswer, { kind: 'failed' }>): Error {
    const error = Object.assign(new Error(message), { code });
    if (code === SPAWNER_FAULT)
      this.#log.unexpected('the spawner could not handle a program', error, { request: kind });
    return error;
  }

  #settle(id: number): Deferred<SpawnerAnswer> | undefined {
    const deferred = this.#pending.get(id);
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#spawner?.channel?.unref();
    return deferred;
  }

  #connected(): ChildProcess {
    if (this.#spawner !== undefined) return this.#spawner;
    const spawner = this.#startSpawner();
    this.#spawner = spawner;
    spawner.unref();
    spawner.channel?.unref();
    const on = <A extends unknown[]>(event: string, handle: (...args: A) => void): ChildProcess =>
      spawner.on(event, guarded(this.#log, `the spawner's ${event} could not be handled`, handle));
    on('message', (answer: SpawnerAnswer) => this.#settle(answer.id)?.resolve(answer));
    on('error', (error: Error) => this.#lost(spawner, error));
    on('disconnect', () => {
      this.#lost(spawner, Object.assign(new Error('the spawner process ended'), { code: 'EPIPE' }));
    });
    return spawner;
  }

  #lost(spawner: ChildProcess, error: Error): void {
    if (this.#spawner === spawner) this.#spawner = undefined;
    else if (this.#spawner !== undefined) return; // what waits now waits for the next one
    for (const id of this.#pending.keys()) this.#settle(id)?.reject(error);
  }
}

/** Whether the process has ended and only waits for its parent to notice, which the init of a container may never do. */
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.charAt(stat.lastIndexOf(')') + 2) === 'Z';
  } catch {
    return false; // there is no /proc, or the process has just ended: the next call shows which
  }
}
