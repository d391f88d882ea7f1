/**
 * The spawner: a small process that starts programs for a large one, because `spawn` blocks longer the larger its
 * process is. An entry point; it lives as long as its IPC channel, and its programs (except daemons) end with it.
 * Each program has its own process group, so that its children end with it.
 */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import { hasErrorCode } from '../../base/errors.ts';
import { LOG_FILE_VARIABLE } from './log-rotation.ts';
import { SPAWNER_FAULT, type SpawnerAnswer, type SpawnerRequest } from './spawner-protocol.ts';

/** The output kept per stream; the rest is discarded. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
/** How long output may stay open after the program's end, held by its children. */
const LINGER_MS = 1_000;

type RunRequest = Extract<SpawnerRequest, { kind: 'run' }>;
type DaemonRequest = Extract<SpawnerRequest, { kind: 'daemon' }>;

// The service manager's variables are for the process that started this one, not for the programs it runs.
for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete process.env[name];

const running = new Map<number, { readonly pid: number | undefined }>();

function sendToParent(message: SpawnerAnswer): void {
  // The requesting process may have just ended: then no response is needed.
  if (process.connected) process.send!(message, undefined, undefined, () => undefined);
}

function fail(id: number, error: unknown): void {
  const { code, message } = error as NodeJS.ErrnoException;
  sendToParent({ kind: 'failed', id, code: code ?? SPAWNER_FAULT, message });
}

/** Wraps a handler of one program's event or timer; an exception ends only that program. */
function ofRun<A extends unknown[]>(id: number, handle: (...args: A) => void): (...args: A) => void {
  return (...args) => {
    try {
      handle(...args);
    } catch (error) {
      const found = running.get(id);
      if (!running.delete(id)) return;
      fail(id, error);
      if (found?.pid !== undefined) tryKillGroup(found.pid);
    }
  };
}

/** Signalling a program that runs as another user may fail, which is ignored. */
function tryKillGroup(pid: number): void {
  try {
    killGroup(pid);
  } catch (error) {
    if (!hasErrorCode(error, 'EPERM')) throw error;
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (!hasErrorCode(error, 'ESRCH')) throw error;
  }
}

function collect(id: number, stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  let length = 0;
  const keep = (chunk: Buffer): void => {
    if (length >= MAX_OUTPUT_BYTES) return;
    chunks.push(chunk.subarray(0, MAX_OUTPUT_BYTES - length));
    length += chunk.length;
  };
  stream.on('data', ofRun(id, keep));
  return () => Buffer.concat(chunks).toString('utf8');
}

function run(request: RunRequest): void {
  const { id, cwd, user } = request;
  const inherited = request.inheritsEnv === false ? {} : process.env;
  const env = request.env === undefined ? inherited : { ...inherited, ...request.env };
  const identity = user === undefined ? {} : { uid: user, gid: user };
  const child = spawn(request.file, request.args, { cwd, env, ...identity, detached: true, stdio: 'pipe' });
  running.set(id, { pid: child.pid });
  // Registered first: without descriptors there is a child with neither a pid nor streams.
  child.once(
    'error',
    ofRun(id, (error: Error) => {
      if (child.pid === undefined) throw error;
    }),
  );
  if (child.pid === undefined) return;
  let timedOut = false;
  const onDeadline = (): void => {
    timedOut = true;
    killGroup(child.pid);
  };
  const deadline = setTimeout(ofRun(id, onDeadline), request.timeoutMs);
  const stdout = collect(id, child.stdout);
  const stderr = collect(id, child.stderr);
  const finish = (exitCode: number): void => {
    clearTimeout(deadline);
    if (!running.has(id)) return;
    sendToParent({ kind: 'ended', id, exitCode, stdout: stdout(), stderr: stderr(), timedOut });
    running.delete(id);
  };
  const onExit = (code: number | null, signal: NodeJS.Signals | null): void => {
    const exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
    const end = ofRun(id, () => finish(exitCode));
    const linger = setTimeout(end, LINGER_MS);
    child.once('close', () => {
      clearTimeout(linger);
      end();
    });
  };
  child.once('exit', ofRun(id, onExit));
  // A program that does not read all of its input breaks the pipe, which is no error here.
  child.stdin.on('error', () => undefined);
  child.stdin.end(request.input ?? '');
}

function startDaemon(request: DaemonRequest): void {
  const { id } = request;
  const log = openSync(request.logFile, 'a', 0o640);
  try {
    const env = { ...process.env, [LOG_FILE_VARIABLE]: request.logFile, ...request.env };
    const child = spawn(request.file, request.args, {
      cwd: request.cwd,
      env,
      detached: true,
      stdio: ['ignore', log, log],
    });
    child.once('error', (error) => fail(id, error));
    if (child.pid !== undefined) sendToParent({ kind: 'started', id, pid: child.pid });
    child.unref();
  } finally {
    closeSync(log);
  }
}

process.on('message', (request: SpawnerRequest) => {
  try {
    if (request.kind === 'run') run(request);
    else if (request.kind === 'daemon') startDaemon(request);
    else killGroup(running.get(request.id)?.pid);
  } catch (error) {
    fail(request.id, error);
  }
});

process.on('disconnect', () => {
  for (const { pid } of running.values()) if (pid !== undefined) tryKillGroup(pid);
  process.exit(0);
});

// The terminal's signals are for the process that started this one, which then ends it by closing the channel.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
