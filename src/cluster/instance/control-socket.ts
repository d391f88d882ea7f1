/**
 * The instance's lock, which lies in the data directory, and its control connection. The lock tells whether an instance
 * runs; the socket of one that was killed stays behind and is replaced under the lock.
 */
import { chmodSync, mkdirSync, rmdirSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { errorMessage, hasErrorCode } from '../../base/errors.ts';
import type { Log } from '../../platform/log.ts';
import { PreflightError } from '../preflight-error.ts';
import { requestControl } from './control-client.ts';
import { ownControlDir, socketAddress } from './control-place.ts';
import type { ControlHandlers } from './control-protocol.ts';
import { takeFileLock, type FileLock } from './file-lock.ts';
import { olderInstancePid } from './older-instance.ts';
import { checkOwnDataDir } from './own-data-dir.ts';

export interface ControlLock {
  /** From now on; commands that fail are logged. */
  serve(handlers: ControlHandlers, log: Log): void;
  release(): Promise<void>;
}

/** Someone else holds the instance. */
export class InstanceRunningError extends PreflightError {
  readonly pid: number;
  constructor(dataDir: string, pid: number) {
    // Of an instance that was started by another path to the directory, the process is not known.
    const which = pid === 0 ? '' : ` (pid ${pid})`;
    super(`another keelson runs on ${dataDir}${which}; stop it first or use another --data-dir`);
    this.name = 'InstanceRunningError';
    this.pid = pid;
  }
}

/** The lock of one data directory, whatever path leads to it. */
const LOCK_FILE = 'keelson.lock';

/** Takes the lock. Rejects with `InstanceRunningError` when it is held, with `PreflightError` when the directory is no use. */
export async function acquireControlLock(dataDir: string): Promise<ControlLock> {
  const lock = lockDataDir(dataDir);
  const older = olderInstancePid(dataDir);
  if (lock === undefined || older !== undefined) {
    lock?.release();
    const running = (await requestControl(dataDir, 'pid')) as { pid?: number } | undefined;
    throw new InstanceRunningError(dataDir, running?.pid ?? older ?? 0);
  }
  try {
    return await openControl(ownControlDir(dataDir), lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Undefined where another process has it. Throws `PreflightError` when the directory is no use. */
export function lockDataDir(dataDir: string): FileLock | undefined {
  checkOwnDataDir(dataDir);
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    return takeFileLock(`${dataDir}/${LOCK_FILE}`);
  } catch (error) {
    throw new PreflightError(`cannot use the data directory ${dataDir}: ${errorMessage(error)}`);
  }
}

async function openControl(dir: string, lock: FileLock): Promise<ControlLock> {
  // Root's run directory can be entered by all, as pods with users of their own must; its folder of the socket cannot.
  if (mkdirSync(dirname(dir), { recursive: true }) !== undefined) chmodSync(dirname(dir), 0o711);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  chmodSync(dir, 0o700);
  const address = socketAddress(dir);
  rmSync(address.path, { force: true });
  let served: ControlService | undefined;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    answer(socket, () => served);
  });
  await listen(server, address.path);
  chmodSync(address.path, 0o600);
  server.unref();
  return {
    serve(handlers, log) {
      served = { handlers, log };
    },
    async release() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve)); // It removes the socket's file.
      address.close();
      removeEmpty(dir);
      removeEmpty(dirname(dir));
      lock.release();
    },
  };
}

/** A run directory with anything else in it stays, for the next start and for `keelson down`. */
function removeEmpty(dir: string): void {
  try {
    rmdirSync(dir);
  } catch (error) {
    if (!hasErrorCode(error, 'ENOTEMPTY', 'ENOENT', 'EEXIST')) throw error;
  }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ path }, () => {
      server.off('error', reject);
      server.on('error', () => undefined); // Errors of single connections end those connections only.
      resolve();
    });
  });
}

interface ControlService {
  readonly handlers: ControlHandlers;
  readonly log: Log;
}

function answer(socket: Socket, served: () => ControlService | undefined): void {
  socket.setEncoding('utf8');
  socket.on('error', () => socket.destroy());
  let text = '';
  socket.on('data', (chunk: string) => {
    text += chunk;
    const end = text.indexOf('\n');
    if (end >= 0) {
      const { handlers, log } = served() ?? {};
      respond(socket, text.slice(0, end), handlers).catch((error: unknown) => {
        log?.unexpected('a control command failed', error);
        socket.destroy();
      });
    } else if (text.length > 4096) socket.destroy();
  });
}

async function respond(socket: Socket, command: string, handlers: ControlHandlers | undefined): Promise<void> {
  const send = (value: object): void => {
    socket.write(`${JSON.stringify(value)}\n`);
  };
  if (command === 'pid') send({ pid: process.pid });
  else if (command === 'stop') {
    handlers?.stop();
    send({ stopping: handlers !== undefined, pid: process.pid });
  } else if (command === 'status') send((await handlers?.status()) ?? { phase: 'starting', pid: process.pid });
  else if (command === 'snapshot' && handlers !== undefined)
    send(
      await handlers.snapshot().then(
        () => ({ saved: true }),
        (error: unknown) => ({ error: errorMessage(error) }),
      ),
    );
  else if (command.startsWith('node ') && handlers !== undefined) {
    const [, action = '', name = ''] = command.split(' ');
    send(
      await handlers.node(action, name).then(
        (done) => ({ done }),
        (error: unknown) => ({ error: errorMessage(error) }),
      ),
    );
  } else if (command === 'progress' && handlers !== undefined) {
    const end = handlers.progress((line) => {
      send(line);
      if (line.outcome !== undefined) socket.end();
    });
    socket.on('close', end);
    return;
  } else send({ error: `unknown or too early: ${command}` });
  socket.end();
}
