/**
 * An etcd process in its own session: adopted if an earlier Keelson started it with the same flags, replaced if they
 * differ, restarted with back-off when it exits. It outlives Keelson; `down` ends it.
 */
import { createBackoff } from '../../base/backoff.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import { ownProcess } from '../../platform/process-identity.ts';
import { background, logFailedRound } from '../../platform/unexpected.ts';

export interface EtcdProcessConfig {
  /** The folder of its data, which no other process uses. */
  readonly dir: string;
  readonly logFile: string;
  readonly args: readonly string[];
}

export interface EtcdProcess {
  /** Starts or adopts it and supervises it until the signal aborts. Resolves when it runs, not when it serves. */
  start(signal: AbortSignal): Promise<void>;
  /** Whether the process exists. */
  running(): boolean;
}

type Deps = Pick<Platform, 'clock' | 'exec' | 'files' | 'host' | 'log'>;
type FilesPlatform = Pick<Platform, 'files'>;

const CHECK_PERIOD_MS = 500;
/** The run time after which the back-off is reset. */
const STABLE_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;

/** The folder of etcd's data. */
export function etcdDataDir(dir: string): string {
  return `${dir}/data`;
}

/** Nothing runs before `start`. */
export function createEtcdProcess(deps: Deps, config: EtcdProcessConfig): EtcdProcess {
  const { clock, exec, files } = deps;
  const log = deps.log.child('etcd');
  let pid = 0;
  const launch = async (): Promise<void> => {
    const { architecture } = await deps.host.info();
    // On other architectures etcd 3.4 does not run without this variable.
    const env: Readonly<Record<string, string>> =
      architecture === 'amd64' ? {} : { ETCD_UNSUPPORTED_ARCH: architecture };
    pid = await exec.startDaemon('etcd', config.args, { logFile: config.logFile, env });
    log.info('etcd runs', { pid });
  };
  const supervise = async (signal: AbortSignal): Promise<void> => {
    const backoff = createBackoff({ initialMs: 250, maxMs: 30_000 });
    let sinceMs = clock.monotonicMs();
    while (!signal.aborted) {
      await sleepUnlessAborted(clock, CHECK_PERIOD_MS, signal);
      if (signal.aborted || exec.kill(pid, 0)) continue;
      if (clock.monotonicMs() - sinceMs > STABLE_MS) backoff.reset();
      const pauseMs = backoff.nextMs();
      log.warn('etcd ended; it is started again', { pid, pauseMs, logFile: config.logFile });
      await sleepUnlessAborted(clock, pauseMs, signal);
      if (signal.aborted) return;
      await launch().catch((error: unknown) => logFailedRound(log, 'etcd cannot be started', { err: error }));
      sinceMs = clock.monotonicMs();
    }
  };
  return {
    running: () => pid > 0 && exec.kill(pid, 0),
    async start(signal) {
      await files.makeDir(etcdDataDir(config.dir), { mode: 0o700 });
      const found = await findEtcd(deps, config.dir);
      if (found !== undefined && found.args.join('\0') === config.args.join('\0')) pid = found.pid;
      else {
        await endEtcd(deps, config.dir);
        await launch();
      }
      background(log, 'the supervision of etcd broke off', supervise(signal));
    },
  };
}

/**
 * Ends the etcd of this folder, if it runs; resolves when no process uses its data. Rejects when it cannot be killed.
 */
export async function endEtcd(deps: Pick<Deps, 'clock' | 'exec' | 'files'>, dir: string): Promise<void> {
  const { clock, exec } = deps;
  const pid = (await findEtcd(deps, dir))?.pid;
  if (pid === undefined) return;
  exec.kill(pid, 'SIGTERM');
  const killMs = clock.monotonicMs() + STOP_TIMEOUT_MS;
  while (exec.kill(pid, 0) && clock.monotonicMs() < killMs) await clock.sleep(20);
  if (exec.kill(pid, 0)) exec.kill(pid, 'SIGKILL');
  const deadlineMs = clock.monotonicMs() + STOP_TIMEOUT_MS;
  while ((await findEtcd(deps, dir))?.pid === pid) {
    if (clock.monotonicMs() > deadlineMs) throw new Error(`etcd (pid ${pid}) does not end`);
    await clock.sleep(20);
  }
}

/** Searches all processes for one of this user with this data. */
async function findEtcd(
  { files }: FilesPlatform,
  dir: string,
): Promise<{ pid: number; args: readonly string[] } | undefined> {
  for (const name of await files.readDir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const command = await files.readText(`/proc/${name}/cmdline`).catch(() => '');
    if (!command.includes(etcdDataDir(dir))) continue;
    const [program = '', ...args] = (await ownProcess(files, Number(name)))?.command ?? [];
    if (/(^|\/)etcd$/.test(program) && args.includes(etcdDataDir(dir))) return { pid: Number(name), args };
  }
  return undefined;
}
