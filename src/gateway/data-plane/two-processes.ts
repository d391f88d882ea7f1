/**
 * The data plane's two processes. One opens ports, as root, and reads nothing from the network. The other reads what clients
 * send: it has given up root and all capabilities before its first byte. Node's cluster module passes the listening sockets and
 * is used for nothing else; a child that requests more than its ports and its control socket is compromised, and is killed.
 */
import type { ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { finished } from 'node:stream/promises';
import { errorMessage } from '../../base/errors.ts';
import { createNodeClock } from '../../platform/node/clock.ts';
import { filterRequests } from './worker-requests.ts';
import { createRotation, LOG_FILE_VARIABLE } from '../../platform/node/log-rotation.ts';

/** The environment variables that the data plane needs; others may contain keys and passwords. */
const KEPT_VARIABLE = /^(MALLOC_.*|LANG|LC_ALL|TZ|NODE_EXTRA_CA_CERTS)$/;
const STDERR = 2;
/** Longer than connections have to finish, shorter than the parent of this process waits. */
const END_GRACE_MS = 10_500;

export function isServingProcess(): boolean {
  return cluster.isWorker;
}

/**
 * Starts the serving process with this process's command line and a reduced environment; the other variables are removed from
 * this process, too. Resolves to its exit code. A termination signal is forwarded; after `graceMs` the process is killed.
 */
export function superviseServing(
  environment: NodeJS.ProcessEnv,
  controlPath: string,
  graceMs = END_GRACE_MS,
): Promise<number> {
  const logFile = environment[LOG_FILE_VARIABLE];
  for (const name of Object.keys(environment)) if (!KEPT_VARIABLE.test(name)) delete environment[name];
  // The serving process accepts connections itself.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({ args: process.argv.slice(2), silent: true });
  const worker = cluster.fork();
  filterRequests(worker.process, controlPath, () => {
    writeAll(Buffer.from('the process of routes asked for what it does not need and was killed\n'));
    worker.process.kill('SIGKILL');
  });
  const rotation = logFile === undefined ? undefined : createRotation(STDERR, logFile);
  for (const stream of [worker.process.stdout, worker.process.stderr])
    stream?.on('data', (chunk: Buffer) => {
      writeAll(chunk);
      rotation?.(chunk.length);
    });
  const clock = createNodeClock();
  const end = (): void => {
    worker.process.kill('SIGTERM');
    clock.setTimer(graceMs, () => worker.process.kill('SIGKILL'));
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, end);
  return endOf(worker.process);
}

/**
 * The exit code once the output has been read. The event `close` would also wait for the end of the message channel, which Node.js
 * does not report when a write to a killed process closed it first.
 */
async function endOf(child: ChildProcess): Promise<number> {
  const [code] = (await once(child, 'exit')) as [number | null];
  const outputs = [child.stdout, child.stderr].filter((stream) => stream !== null);
  await Promise.allSettled(outputs.map((stream) => finished(stream, { writable: false })));
  return code ?? 1;
}

function writeAll(chunk: Buffer): void {
  try {
    for (let at = 0; at < chunk.length;) at += writeSync(STDERR, chunk, at);
  } catch {
    // A full disk must not end routes.
  }
}

/** What the serving process gets for a port: an error number of libuv, or a handle. */
type OnHandle = (error: number, handle: SharedHandle | null) => void;

interface SharedHandle {
  getsockname?(name: { port?: number }): number;
  close(): void;
}

/** Node's own function for the sockets of serving processes, without a public API. */
interface HandleSource {
  _getServer(server: unknown, options: { readonly port?: number }, onHandle: OnHandle): void;
}

const UV_EADDRINUSE = -98;

/**
 * Closes the handles of ports that another program has. The kernel may report that only when the port is opened; node:net then
 * keeps the handle, and node:cluster ends the process when the same port is tried again.
 */
export function closeUnboundHandles(source: HandleSource = cluster as typeof cluster & HandleSource): void {
  const getServer = source._getServer.bind(source);
  source._getServer = (server, options, onHandle) =>
    getServer(server, options, (error, handle) => {
      const name: { port?: number } = {};
      const { port = 0 } = options;
      if (error !== 0 || handle === null || port <= 0 || handle.getsockname?.(name) === undefined)
        return onHandle(error, handle);
      if (name.port === port) return onHandle(error, handle);
      handle.close();
      onHandle(UV_EADDRINUSE, null);
    });
}

/**
 * Gives up root for good. Everything that only root can load or read must be loaded before. Throws when the user cannot be
 * changed.
 */
export function becomeUser(user: number): void {
  if (process.getuid?.() !== 0) return;
  process.chdir('/');
  try {
    process.setgroups!([]);
    process.setgid!(user);
    process.setuid!(user);
  } catch (error) {
    // The channel to the other process would keep this one alive.
    process.channel?.unref();
    const needed = 'CAP_SETGID, CAP_SETUID, and that user in the user namespace';
    throw new Error(
      `no route is served, as root cannot become user ${user}, which needs ${needed}: ${errorMessage(error)}`,
      {
        cause: error,
      },
    );
  }
}
