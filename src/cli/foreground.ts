/**
 * `keelson up` in the foreground: takes the instance's lock, checks the machine, starts the cluster with progress on
 * stderr, then serves until a signal. SIGINT and SIGTERM stop cleanly and leave pods running; a second one ends at once.
 */
import type { Cluster } from '../cluster/cluster.ts';
import type { ClusterOptions } from '../cluster/cluster-options.ts';
import { acquireControlLock, InstanceRunningError, type ControlLock } from '../cluster/control-socket.ts';
import { deriveInstance, instanceHash, controlSocketName } from '../cluster/instance.ts';
import { prepareInstance } from '../cluster/prepare-instance.ts';
import { createProgress, type Progress } from '../cluster/progress.ts';
import { PreflightError } from '../cluster/preflight.ts';
import { createNodePlatform, type NodePlatform } from '../platform/node/node-platform.ts';
import { printProgress } from './progress.ts';
import { UserError } from './usage-error.ts';

/** Runs until stopped; resolves to the exit code. */
export async function runForeground(options: ClusterOptions, level: 'debug' | 'info' | 'warn' | 'error'): Promise<number> {
  const { createHash } = await import('node:crypto');
  const hash = instanceHash(options.dataDir, (text) => createHash('sha256').update(text).digest('hex'));
  const lock = await acquireControlLock(controlSocketName(hash), options.dataDir).catch((error: unknown) => {
    throw error instanceof InstanceRunningError ? new UserError(error.message) : error;
  });
  const platform = createNodePlatform({ cgroupRoot: `/keelson-${hash}`, log: { level } });
  const progress = createProgress(platform.clock);
  try {
    return await runLocked(options, { platform, lock, progress });
  } catch (error) {
    progress.finish('failed', (error as Error).message);
    throw error instanceof PreflightError ? new UserError(error.message) : error;
  } finally {
    await lock.release();
    platform.close();
  }
}

interface Running {
  readonly platform: NodePlatform;
  readonly lock: ControlLock;
  readonly progress: Progress;
}

async function runLocked(options: ClusterOptions, { platform, lock, progress }: Running): Promise<number> {
  const stopped = waitForSignal();
  const running: { cluster?: Cluster } = {};
  lock.serve({
    status: async () => running.cluster?.status() ?? { phase: 'starting', pid: process.pid },
    progress: (send) => progress.follow(send),
    stop: stopped.trigger,
  });
  if (process.stderr.isTTY) progress.follow(printProgress);
  const loading = import('../cluster/cluster.ts'); // While programs and files are looked at.
  loading.catch(() => undefined); // Awaited below.
  const prepared = await progress.phase('machine checked', () => prepareInstance(platform, options));
  const instance = deriveInstance(prepared.instanceOptions, (text) => platform.crypto.sha256Hex(text));
  const { createCluster } = await loading;
  const cluster = createCluster(platform, { instance, options, cniBinDirs: prepared.cniBinDirs, kubeletPort: prepared.kubeletPort, progress });
  running.cluster = cluster;
  try {
    await Promise.race([cluster.start(), stopped.promise]);
    if (!stopped.happened()) progress.finish('ready');
    await Promise.race([stopped.promise, cluster.failed]);
  } finally {
    await cluster.stop();
  }
  return 0;
}

function waitForSignal(): { promise: Promise<void>; trigger: () => void; happened: () => boolean } {
  let happened = false;
  const { promise, resolve } = Promise.withResolvers<void>();
  const trigger = (): void => {
    if (happened) process.exit(1);
    happened = true;
    resolve();
  };
  process.on('SIGINT', trigger);
  process.on('SIGTERM', trigger);
  return { promise, trigger, happened: () => happened };
}
