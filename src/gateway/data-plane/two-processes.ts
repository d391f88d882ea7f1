/**
 * The data plane is two processes. One opens ports, as root, and reads nothing from the network. The other reads what clients
 * send: it has given up root and all capabilities before its first byte. Node.js passes listening sockets between processes of
 * a cluster, which is all that is used of it; a child that asks for more than its ports and its control socket was taken over,
 * and is killed.
 */
import cluster from 'node:cluster';
import { writeSync } from 'node:fs';
import { errorMessage } from '../../base/errors.ts';
import { createNodeClock } from '../../platform/node/clock.ts';
import { filterRequests } from './worker-requests.ts';
import { createRotation, LOG_FILE_VARIABLE } from '../../platform/node/log-rotation.ts';

/** What the data plane needs of an environment, which may have keys and passwords of others. */
const KEPT_VARIABLE = /^(MALLOC_.*|LANG|LC_ALL|TZ|NODE_EXTRA_CA_CERTS)$/;
const STDERR = 2;
/** Longer than connections get to finish, shorter than what started this process waits for it. */
const END_GRACE_MS = 10_500;

/** Whether this is the process that serves. */
export function isServingProcess(): boolean {
  return cluster.isWorker;
}

/**
 * Starts the serving process from this one's command line, with what it may have of this one's environment, which loses the
 * rest. Resolves to its exit code. A termination is handed on to it; where it has not ended `graceMs` later, it is killed.
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
  return new Promise((resolve) => {
    worker.process.once('close', (code) => resolve(code ?? 1));
  });
}

function writeAll(chunk: Buffer): void {
  try {
    for (let at = 0; at < chunk.length;) at += writeSync(STDERR, chunk, at);
  } catch {
    // A disk that is full ends no route.
  }
}

/** Gives up root for good. All that is to be loaded or read as root must be there. Throws where the user cannot be. */
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
