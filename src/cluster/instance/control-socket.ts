/**
 * The instance's lock in the data directory, and its control socket. Whether an instance runs is known from the lock;
 * the socket of a killed instance remains and is replaced under the lock.
 */
import { chmodSync, mkdirSync, rmdirSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { errorMessage, hasErrorCode } from '../../base/errors.ts';
import type { Log } from '../../platform/log.ts';
import { PreflightError } from '../preflight-error.ts';
import { requestControl } from './control-client.ts';
import { ownControlDir, rootControlDir, socketAddress } from './control-place.ts';
import type { ControlHandlers } from './control-protocol.ts';
import { takeFileLock, type FileLock } from './file-lock.ts';
import { olderInstancePid } from './older-instance.ts';
import { checkOwnDataDir } from './own-data-dir.ts';

export interface ControlLock {
  /** Serves commands from now on; failed commands are logged. */
  serve(handlers: ControlHandlers, log: Log): void;
  release(): Promise<void>;
}

/** Another process holds the instance's lock. */
export class InstanceRunningError extends PreflightError {
  readonly pid: number;
  constructor(dataDir: string, pid: number) {
    // For an instance that was started by another path to the directory, the process is unknown.
    const which = pid === 0 ? '' : ` (pid ${pid})`;
    super(`another keelson runs on ${dataDir}${which}; stop it first or use another --data-dir`);
    this.name = 'InstanceRunningError';
    this.pid = pid;
  }
}

/** The lock file, which is the same by whatever path the directory is reached. */
const LOCK_FILE = 'keelson.lock';

/**
 * Takes the lock. Rejects with `InstanceRunningError` when it is held, and with `PreflightError` for an unusable
 * directory.
 */
export async function acquireControlLock(dataDir: string): Promise<ControlLock> {
  const lock = lockDataDir(dataDir);
  const older = olderInstancePid(dataDir);
  if (lock === undefined || older !== undefined) {
    lock?.release();
    const running = (await requestControl(dataDir, 'pid')) as { pid?: number } | undefined;
    throw new InstanceRunningError(dataDir, running?.pid ?? older ?? 0);
  }
  try {
    return await openControl(dataDir, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Undefined when another process holds it. Throws `PreflightError` for an unusable directory. */
export function lockDataDir(dataDir: string): FileLock | undefined {
  checkOwnDataDir(dataDir);
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    return takeFileLock(`${dataDir}/${LOCK_FILE}`);
  } catch (error) {
    throw new PreflightError(`cannot use the data directory ${dataDir}: ${errorMessage(error)}`);
  }
}

/** Creates root's run directory. All users may enter it whatever the umask is, since pods, helm and gateways run as others. */
function makeRunDir(runDir: string): void {
  mkdirSync(runDir, { recursive: true });
  chmodSync(dirname(runDir), 0o755);
  chmodSync(runDir, 0o711);
}

async function openControl(dataDir: string, lock: FileLock): Promise<ControlLock> {
  const dir = ownControlDir(dataDir);
  if (dir === rootControlDir(dataDir)) makeRunDir(dirname(dir));
  // Only the owner may enter the folder of the socket.
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  chmodSync(dir, 0o700);
  const address = socketAddress(dir);
  rmSync(address.path, { force: true });
  let served: ControlService | undefined;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    answerConnection(socket, () => served);
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
      await new Promise((resolve) => server.close(resolve)); // also removes the socket's file
      address.close();
      removeEmpty(dir);
      removeEmpty(dirname(dir));
      lock.release();
    },
  };
}

/** Removes the run directory if it is empty; other content is for the next start and for `keelson down`. */
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
      server.on('error', () => undefined); // an error of one connection ends only that connection
      resolve();
    });
  });
}

interface ControlService {
  readonly handlers: ControlHandlers;
  readonly log: Log;
}

function answerConnection(socket: Socket, served: () => ControlService | undefined): void {
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
  } else if (command.startsWith('store ') && handlers !== undefined)
    send(
      await handlers
        .moveStore(command.slice('store '.length), (step) => send({ step }))
        .then(
          (done) => ({ done }),
          (error: unknown) => ({ error: errorMessage(error) }),
        ),
    );
  else if (command === 'progress' && handlers !== undefined) {
    const end = handlers.progress((line) => {
      send(line);
      if (line.outcome !== undefined) socket.end();
    });
    socket.on('close', end);
    return;
  } else send({ error: `unknown or too early: ${command}` });
  socket.end();
}
