/**
 * Runs a cluster in the foreground: takes the instance's lock, starts with progress on stderr, serves until a signal or
 * `keelson down`. SIGINT and SIGTERM stop cleanly; a second one ends at once.
 */
import { createHash } from 'node:crypto';
import { chmod, rm } from 'node:fs/promises';
import { constants } from 'node:os';
import { errorMessage } from '../base/errors.ts';
import type { ClusterStatus } from '../cluster/cluster-status.ts';
import { acquireControlLock, InstanceRunningError, type ControlLock } from '../cluster/instance/control-socket.ts';
import { instanceHash } from '../cluster/instance/instance.ts';
import { NODE_ACTIONS } from '../cluster/nodes/node-actions.ts';
import { createProgress, type Progress } from '../cluster/progress.ts';
import { workingCopy } from '../cluster/store/snapshots.ts';
import type { CancelTimer } from '../platform/clock.ts';
import { createNodePlatform, type NodePlatform } from '../platform/node/node-platform.ts';
import { LOG_FILE_VARIABLE } from '../platform/node/log-rotation.ts';
import { boundDaemonLogs } from './daemon-logs.ts';
import { returnMemoryWhenIdle } from './idle-memory.ts';
import { endLater } from './end-later.ts';
import type { InstanceRun, RunnableCluster } from './instance-run.ts';
import { welcome } from './kubeconfig/welcome.ts';
import { logContained } from './last-net.ts';
import { recordCluster } from './machine-clusters.ts';
import { setProcessUmask } from './process-umask.ts';
import { printProgress } from './progress.ts';
import { SettingsWriter } from './settings-writer.ts';
import { restartMessage, superviseInstance } from './supervised-instance.ts';
import { StoreMove } from './store-move.ts';
import { markServing, supervision } from './supervision.ts';
import { UserError } from './usage-error.ts';

/** Runs until stopped; resolves to the exit code. */
export async function runInstance(run: InstanceRun): Promise<number> {
  setProcessUmask();
  const hash = instanceHash(run.dataDir, (text) => createHash('sha256').update(text).digest('hex'));
  const lock = await acquireControlLock(run.dataDir).catch((error: unknown) => {
    // Another process has started it meanwhile: its supervisor has nothing left to do.
    throw error instanceof InstanceRunningError ? new UserError(error.message, supervision?.restarts ? 2 : 1) : error;
  });
  const platform = createNodePlatform({ cgroupRoot: `/keelson-${hash}`, log: { level: run.start.logLevel } });
  logContained(platform.log);
  const progress = createProgress(platform);
  try {
    return await runLocked(run, { platform, lock, progress });
  } catch (error) {
    progress.finish('failed', errorMessage(error));
    throw error;
  } finally {
    await lock.release();
    platform.close();
    endLater(platform.log);
  }
}

interface InstanceRunContext {
  readonly platform: NodePlatform;
  readonly lock: ControlLock;
  readonly progress: Progress;
}

async function runLocked(run: InstanceRun, { platform, lock, progress }: InstanceRunContext): Promise<number> {
  const stopped = waitForSignal();
  const running: { cluster?: RunnableCluster | undefined } = {};
  const { log, clock, exec } = platform;
  const underWay = (): readonly string[] => running.cluster?.underWay?.() ?? [];
  const supervised = await superviseInstance({ log, clock, exec, underWay, end: stopped.trigger }, run.dataDir);
  const restarts = supervised.last && { restarts: supervised.last };
  const move = new StoreMove(run);
  const settings = new SettingsWriter(platform.files, run.dataDir);
  const handlers = {
    status: async () => ({
      ...(running.cluster ? await running.cluster.status() : STARTING),
      errors: platform.lastErrors(),
      ...(await diskOf(platform, run.dataDir)),
      ...restarts,
    }),
    progress: progress.follow,
    stop: stopped.trigger,
    snapshot: () => snapshot(run.dataDir, running.cluster),
    node: (action: string, name: string) => actOnNode(running.cluster, action, name),
    moveStore: (text: string, report: (line: string) => void) =>
      move.request({ text, report, cluster: running.cluster, files: platform.files }),
  };
  lock.serve(handlers, log);
  if (!inBackground()) progress.follow(printProgress);
  while (!stopped.happened()) {
    await move.attempt(platform, async (current) => {
      running.cluster = await create(current, { platform, progress }, stopped.signal);
      if (running.cluster === undefined) return;
      await serve(current, running.cluster, { platform, progress, settings, supervised, stopped, move });
      running.cluster = undefined;
    });
  }
  supervised.end();
  return 0;
}

/** Undefined when it was to stop meanwhile. */
async function create(
  run: InstanceRun,
  { platform, progress }: Pick<InstanceRunContext, 'platform' | 'progress'>,
  signal: AbortSignal,
): Promise<RunnableCluster | undefined> {
  try {
    return await run.create(platform, progress, signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

interface Serving extends Pick<InstanceRunContext, 'platform' | 'progress'> {
  readonly settings: SettingsWriter;
  readonly supervised: Awaited<ReturnType<typeof superviseInstance>>;
  readonly stopped: Stop;
  readonly move: StoreMove;
}

/** Starts the cluster, and runs until it is to stop. */
async function serve(
  run: InstanceRun,
  cluster: RunnableCluster,
  { platform, progress, settings, supervised, stopped, move }: Serving,
): Promise<void> {
  let stopRotating: CancelTimer | undefined;
  const stopLooking = returnMemoryWhenIdle(platform, { release: () => cluster.releaseMemory?.() });
  try {
    await Promise.race([cluster.start(), stopped.promise]);
    if (!stopped.happened()) {
      await settings.write(run.start.settings, await cluster.status());
      recordCluster(run.dataDir, platform.log);
      progress.finish('ready');
      if (!inBackground() && !move.hasMoved) await welcome(run.dataDir, run.start.kubeconfig);
      markServing();
      stopRotating = boundDaemonLogs(platform, `${run.dataDir}/logs`);
      move.settle();
      if (supervised.last !== undefined) cluster.announce?.('KeelsonRestarted', restartMessage(supervised.last));
      await platform.serviceManager
        .notify('READY=1')
        .catch((error: unknown) =>
          platform.log.warn('Failed to notify systemd that the cluster is ready', { err: error }),
        );
    }
    await Promise.race([stopped.promise, cluster.failed, move.committed()]);
  } finally {
    stopLooking();
    stopRotating?.();
    await cluster.stop();
  }
}

/** Started by `--detach`, which shows the progress itself. */
function inBackground(): boolean {
  return process.env[LOG_FILE_VARIABLE] !== undefined;
}

const STARTING = { phase: 'starting', pid: process.pid };

async function diskOf({ files }: NodePlatform, dataDir: string): Promise<Pick<ClusterStatus, 'disk'>> {
  try {
    const { totalBytes, availableBytes } = await files.statFileSystem(dataDir);
    return { disk: { totalBytes, availableBytes } };
  } catch {
    return {}; // A directory that cannot be looked at stands in the log by what fails on it.
  }
}

/** Makes one copy at a time: all use the same file in the data directory, which only its owner can read. */
async function snapshot(dataDir: string, cluster: RunnableCluster | undefined): Promise<void> {
  if (cluster === undefined) throw new Error('the cluster is starting; try again when it runs');
  if (cluster.backup === undefined) throw new Error('this machine keeps no state of the cluster: ask a server');
  const file = workingCopy(dataDir);
  await rm(file, { force: true });
  await cluster.backup(file);
  await chmod(file, 0o600);
}

async function actOnNode(cluster: RunnableCluster | undefined, action: string, name: string): Promise<string> {
  if (cluster === undefined) throw new Error('the cluster is starting; try again when it runs');
  const known = NODE_ACTIONS.find((each) => each === action);
  if (cluster.actOnNode === undefined || known === undefined) throw new Error('there are no such nodes here');
  return cluster.actOnNode(known, name);
}

/** A second signal of the same kind ends the process at once. The other kind may be the same request, sent by terminal and supervisor. */
function waitForSignal(): Stop {
  const stopping = new AbortController();
  const { promise, resolve } = Promise.withResolvers<void>();
  const trigger = (): void => {
    stopping.abort(new Error('keelson is stopping'));
    resolve();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      process.once(signal, () => process.exit(128 + constants.signals[signal]));
      trigger();
    });
  return { promise, trigger, happened: () => stopping.signal.aborted, signal: stopping.signal };
}

/** The request to stop, by a signal or `keelson down`. `promise` resolves and `signal` aborts with the first. */
interface Stop {
  readonly promise: Promise<void>;
  readonly signal: AbortSignal;
  trigger(): void;
  happened(): boolean;
}
