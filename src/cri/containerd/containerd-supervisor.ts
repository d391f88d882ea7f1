/**
 * Runs Keelson's own containerd: starts it in a session of its own, adopts the one an earlier Keelson left, replaces one of
 * another configuration, restarts it when it dies, and takes everything down at the end. It outlives Keelson otherwise.
 *
 * Which daemon is ours stands in a file beside its state: pid, start time, and hash of the configuration it was started with.
 */
import { onAbort } from '../../base/abort.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import { createBackoff } from '../../base/backoff.ts';
import { ownProcess, recordedProcess, type RecordedProcess } from '../../platform/process-identity.ts';
import { createCriClient, type CriClient } from '../cri-client.ts';
import { buildPauseImage, PAUSE_IMAGE_NAME } from '../pause-image.ts';
import { containerdConfig, type ContainerdOptions } from './containerd-config.ts';
import { importImage } from './image-import.ts';
import { removeAllPods } from './remove-pods.ts';
import { background } from '../../platform/unexpected.ts';

export interface ContainerdSupervisorDeps {
  readonly platform: Pick<Platform, 'clock' | 'crypto' | 'exec' | 'files' | 'host' | 'log'>;
}

export interface ContainerdSupervisorConfig {
  readonly options: Omit<ContainerdOptions, 'sandboxImage' | 'restrictOomScoreAdj'> & {
    /** Default: the built-in image. */
    readonly sandboxImage?: string;
    /** Default: whether this process lacks CAP_SYS_RESOURCE. */
    readonly restrictOomScoreAdj?: boolean;
  };
  /** Default `containerd`, from the PATH. */
  readonly binary?: string;
  readonly configFile: string;
  readonly logFile: string;
  /** How long the daemon may take until it answers. Default 30 s. */
  readonly readyTimeoutMs?: number;
  /** Period in which its process is checked. Default 1 s. */
  readonly checkPeriodMs?: number;
}

export interface ContainerdSupervisor {
  /** A client of the daemon; usable once `start` has resolved. */
  readonly client: CriClient;
  /** Resolves when the daemon answers and has the sandbox image. Supervision ends when the signal aborts; the daemon stays. */
  start(signal: AbortSignal): Promise<void>;
  /** Removes all pods, ends the daemon and its shims. For `down`, not for a restart of Keelson. */
  stop(): Promise<void>;
}

interface DaemonRecord extends RecordedProcess {
  readonly configHash: string;
}

const CAP_SYS_RESOURCE = 24;

/** Whether this process has CAP_SYS_RESOURCE, by /proc/self/status; true where that cannot be read. */
export function hasSysResource(procStatus: string): boolean {
  const match = /^CapEff:\s*([0-9a-f]+)$/m.exec(procStatus);
  return match === null || ((BigInt(`0x${match[1]}`) >> BigInt(CAP_SYS_RESOURCE)) & 1n) === 1n;
}

/** Starts nothing before `start`. */
export function createContainerdSupervisor(
  deps: ContainerdSupervisorDeps,
  config: ContainerdSupervisorConfig,
): ContainerdSupervisor {
  return new Supervisor(deps, config);
}

class Supervisor implements ContainerdSupervisor {
  readonly client: CriClient;
  readonly #platform: ContainerdSupervisorDeps['platform'];
  readonly #config: ContainerdSupervisorConfig;
  readonly #backOff = createBackoff({ initialMs: 500, maxMs: 30_000 });
  #current: RecordedProcess = { pid: 0 };
  #restarting = false;
  #stopWatching: () => void = () => undefined;

  constructor({ platform }: ContainerdSupervisorDeps, config: ContainerdSupervisorConfig) {
    this.#platform = platform;
    this.#config = config;
    const client = createCriClient(platform, { endpoint: config.options.socketPath });
    const runPodSandbox: typeof client.runtime.runPodSandbox = async (request, options) => {
      try {
        return await client.runtime.runPodSandbox(request, options);
      } catch (error) {
        await this.#restoreSandboxImage(error, options?.signal);
        throw error;
      }
    };
    this.client = { ...client, runtime: { ...client.runtime, runPodSandbox } };
  }

  get #recordFile(): string {
    return `${this.#config.options.rootDir}/keelson-daemon.json`;
  }

  async start(signal: AbortSignal): Promise<void> {
    const { crypto, log } = this.#platform;
    const text = containerdConfig(await this.#options());
    const configHash = crypto.sha256Hex(text);
    const record = await this.#known();
    if (
      record !== undefined &&
      record.configHash === configHash &&
      (await this.#isOurs(record)) &&
      (await this.#answers())
    ) {
      log.info('adopted the running containerd', { pid: record.pid });
      this.#current = record;
    } else {
      if (record !== undefined && (await this.#isOurs(record))) await this.#end(record);
      await this.#launch(text, configHash, signal);
    }
    await this.#ensureSandboxImage(signal);
    this.#watch(text, configHash, signal);
  }

  async stop(): Promise<void> {
    this.#stopWatching();
    const record = this.#current.pid > 0 ? this.#current : await this.#known();
    const alive = record !== undefined && (await this.#isOurs(record));
    if (alive && (await this.#answers())) await removeAllPods(this.client.runtime, this.#platform.log);
    if (alive) await this.#end(record);
    await this.#endShims();
    await this.#platform.files.remove(this.#recordFile);
    this.#current = { pid: 0 };
  }

  async #options(): Promise<ContainerdOptions> {
    const { options } = this.#config;
    const { files } = this.#platform;
    const restrict =
      options.restrictOomScoreAdj ?? !hasSysResource(await files.readText('/proc/self/status').catch(() => ''));
    return { ...options, sandboxImage: options.sandboxImage ?? PAUSE_IMAGE_NAME, restrictOomScoreAdj: restrict };
  }

  async #readRecord(): Promise<DaemonRecord | undefined> {
    const { files } = this.#platform;
    if (!(await files.exists(this.#recordFile))) return undefined;
    try {
      return JSON.parse(await files.readText(this.#recordFile)) as DaemonRecord;
    } catch {
      // Truncated by a crash: treated as missing.
      return undefined;
    }
  }

  /** The recorded process, or that of a start that was killed before it recorded one: it left the file empty. */
  async #known(): Promise<DaemonRecord | undefined> {
    const { files } = this.#platform;
    const record = await this.#readRecord();
    if (record !== undefined || !(await files.exists(this.#recordFile)) || !(await files.exists('/proc')))
      return record;
    for (const name of await files.readDir('/proc')) {
      if (!/^\d+$/.test(name)) continue;
      const command = await files.readText(`/proc/${name}/cmdline`).catch(() => '');
      // As `#launch` starts it. Other programs that are given the file, an editor for one, are not it.
      if (!command.endsWith(`\0--config\0${this.#config.configFile}\0`)) continue;
      if (await this.#isOurs({ pid: Number(name) })) return { pid: Number(name), configHash: '' };
    }
    return undefined;
  }

  /** Whether it is the process that was started with our configuration file: ids are used again, command lines imitated. */
  async #isOurs(recorded: RecordedProcess): Promise<boolean> {
    const { exec, files } = this.#platform;
    if (!(recorded.pid > 0) || !exec.kill(recorded.pid, 0)) return false;
    const processIdentity = await recordedProcess(files, recorded);
    return processIdentity?.command.includes(this.#config.configFile) === true;
  }

  async #answers(): Promise<boolean> {
    try {
      await this.client.runtime.version({}, { timeoutMs: 2000 });
      return true;
    } catch {
      return false;
    }
  }

  async #launch(text: string, configHash: string, signal: AbortSignal): Promise<void> {
    const { clock, exec, files, log } = this.#platform;
    const { options, binary = 'containerd', configFile, logFile, readyTimeoutMs = 30_000 } = this.#config;
    for (const directory of [options.rootDir, options.stateDir, options.cniConfDir, options.registryConfigDir])
      await files.makeDir(directory, { mode: 0o711 });
    await files.writeFileAtomic(configFile, text, { mode: 0o600 }); // It may have credentials.
    const loading = this.client.warm();
    await files.writeFile(this.#recordFile, '', { mode: 0o600 });
    const pid = await exec.startDaemon(binary, ['--config', configFile], { logFile });
    this.#current = { pid, startTime: (await ownProcess(files, pid))?.startTime };
    await files.writeFileAtomic(
      this.#recordFile,
      JSON.stringify({ ...this.#current, configHash } satisfies DaemonRecord),
    );
    await loading;
    const deadlineMs = clock.monotonicMs() + readyTimeoutMs;
    while (!(await files.exists(options.socketPath)) || !(await this.#answers())) {
      signal.throwIfAborted();
      if (!exec.kill(pid, 0)) throw new Error(`containerd ended while it started; see ${logFile}`);
      if (clock.monotonicMs() > deadlineMs)
        throw new Error(`containerd did not answer within ${readyTimeoutMs} ms; see ${logFile}`);
      await clock.sleep(10, signal);
    }
    log.info('containerd runs', { pid });
  }

  async #ensureSandboxImage(signal: AbortSignal): Promise<void> {
    const { clock, crypto, host } = this.#platform;
    if (this.#config.options.sandboxImage !== undefined) return;
    const { images } = this.client;
    if ((await images.imageStatus({ image: { image: PAUSE_IMAGE_NAME } })).image !== undefined) return;
    const image = buildPauseImage((await host.info()).architecture, (data) => crypto.sha256Hex(data));
    await importImage(
      { socketPath: this.#config.options.socketPath, clock, images },
      { name: PAUSE_IMAGE_NAME, image, pinned: true, signal },
    );
  }

  /** Restores an image that was removed; the caller creates the sandbox again. */
  async #restoreSandboxImage(error: unknown, signal = new AbortController().signal): Promise<void> {
    if (!(error instanceof Error) || !error.message.includes('failed to get sandbox image')) return;
    const { log } = this.#platform;
    log.warn('the sandbox image is missing; it is put back', { image: PAUSE_IMAGE_NAME });
    await this.#ensureSandboxImage(signal).catch((err: unknown) =>
      log.error('the sandbox image cannot be put back', { err }),
    );
  }

  #watch(text: string, configHash: string, signal: AbortSignal): void {
    const { clock, exec, log } = this.#platform;
    const cancel = clock.setTicker(this.#config.checkPeriodMs ?? 1000, () => {
      if (this.#restarting || exec.kill(this.#current.pid, 0)) return;
      log.warn('containerd ended; it is started again', { pid: this.#current.pid });
      this.#restarting = true;
      background(
        log,
        'containerd could not be started again',
        this.#restart(text, configHash, signal).finally(() => {
          this.#restarting = false;
        }),
      );
    });
    this.#stopWatching = cancel;
    onAbort(signal, cancel);
  }

  async #restart(text: string, configHash: string, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#platform;
    try {
      const record = await this.#readRecord();
      const replaced =
        record !== undefined &&
        record.pid !== this.#current.pid &&
        record.configHash === configHash &&
        (await this.#isOurs(record));
      // Another process of this instance may have been quicker; two daemons must not share one root.
      if (replaced) this.#current = record;
      else await this.#launch(text, configHash, signal);
      this.#backOff.reset();
    } catch (error) {
      if (signal.aborted) return;
      log.error('containerd cannot be started', { err: error });
      await sleepUnlessAborted(clock, this.#backOff.nextMs(), signal);
    }
  }

  async #end({ pid }: RecordedProcess): Promise<void> {
    const { clock, exec } = this.#platform;
    exec.kill(pid, 'SIGTERM');
    for (let waited = 0; waited < 10_000 && exec.kill(pid, 0); waited += 20) await clock.sleep(20);
    if (exec.kill(pid, 0)) exec.kill(pid, 'SIGKILL');
  }

  /**
   * Kills the shims, found by the socket in their arguments: they outlive containerd and are nobody's children. Their
   * containers are killed first, since they would outlive the shims and containerd could not be asked.
   */
  async #endShims(): Promise<void> {
    const { exec, files } = this.#platform;
    const read = (pid: number, file: string): Promise<string> => files.readText(`/proc/${pid}/${file}`).catch(() => '');
    const pids = (await files.readDir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
    const shims = new Set<number>();
    const isShim = (command: readonly string[]): boolean =>
      command[0]?.includes('containerd-shim') === true && command.includes(this.#config.options.socketPath);
    for (const pid of pids) {
      if (!isShim((await read(pid, 'cmdline')).split('\0'))) continue;
      if ((await ownProcess(files, pid)) !== undefined) shims.add(pid);
    }
    if (shims.size === 0) return;
    for (const pid of pids) {
      const parent = /^PPid:\s*(\d+)$/m.exec(await read(pid, 'status'))?.[1];
      if (parent !== undefined && shims.has(Number(parent))) exec.kill(pid, 'SIGKILL');
    }
    for (const pid of shims) exec.kill(pid, 'SIGKILL');
  }
}
