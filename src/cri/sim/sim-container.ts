/** One simulated container: its state, its process and its log. Time and files come from the ports. */
import { sleepUnlessAborted, type Clock } from '../../platform/clock.ts';
import type { Files } from '../../platform/files.ts';
import { formatTime } from '../../api/time.ts';
import { linkedController } from '../../base/abort.ts';
import { createDeferred, type Deferred } from '../../base/deferred.ts';
import type { ContainerConfig, ContainerState } from '../gen/cri-types.ts';
import type { Init } from '../call-options.ts';
import { durationMs, type SimExit, type SimImage } from './sim-image.ts';
import { createUsageMeter, defaultUsage, type UsageMeter, type UsageReading } from './sim-usage.ts';

export interface SimContainerDeps {
  readonly clock: Clock;
  readonly files: Files;
}

/** Facts given at creation. */
export interface SimContainerInit {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: Init<ContainerConfig>;
  environment(): Readonly<Record<string, string>>;
  readonly image: SimImage;
  readonly imageId: string;
  readonly podIp: string;
  /** 0: none. */
  readonly memoryLimitBytes: number;
  /** Absolute; '' when the sandbox has no log directory. */
  readonly logPath: string;
  /** Called at the start of the process: whether it is one of those the image crashes in. */
  countStart(): boolean;
  /** Called at every change of state. */
  onChange(container: SimContainer, type: 'started' | 'stopped', exitCode?: number): void;
}

/** How often a container with computed usage is checked against its limit. */
const CHECK_PERIOD_MS = 1000;

type LineListener = (line: string, stream: 'stdout' | 'stderr') => void;

/** A log timestamp with nanoseconds. */
function timestamp(nowMs: number): string {
  const nanos = String(Math.round((nowMs % 1000) * 1e6)).padStart(9, '0');
  return `${formatTime(nowMs).slice(0, -1)}.${nanos}Z`;
}

/** A container of the simulated runtime. */
export class SimContainer {
  readonly init: SimContainerInit;
  readonly createdAtMs: number;
  state: ContainerState = 'CONTAINER_CREATED';
  startedAtMs = 0;
  finishedAtMs = 0;
  exitCode = 0;
  reason = '';
  readonly #deps: SimContainerDeps;
  // Created at first use: most of a hundred thousand containers only run.
  #ended: Deferred<void> | undefined;
  #life: AbortController | undefined;
  #stop: AbortController | undefined;
  #lineListeners: Set<LineListener> | undefined;
  #writes: Promise<void> | undefined;
  #hasEnded = false;
  #meter: UsageMeter | undefined;
  #memoryLimitBytes: number;

  constructor(init: SimContainerInit, deps: SimContainerDeps) {
    this.init = init;
    this.#deps = deps;
    this.createdAtMs = deps.clock.nowMs();
    this.#memoryLimitBytes = init.memoryLimitBytes;
  }

  /** Its present use. */
  usage(): UsageReading {
    // Most images do not describe usage, so most of a hundred thousand containers need no meter.
    if (this.init.image.usage === undefined) return defaultUsage(this.#deps.clock.nowMs() - this.startedAtMs);
    return this.#meterOf().read();
  }

  /** Sets the limit of its memory: beyond it the process is killed. 0: none. */
  limitMemory(bytes: number): void {
    this.#memoryLimitBytes = bytes;
    this.#checkMemory();
  }

  /** Environment of the process. */
  get environment(): Record<string, string> {
    return { ...this.init.environment() };
  }

  /** Resolves when the process has ended. */
  get ended(): Promise<void> {
    if (this.#hasEnded) return Promise.resolve();
    return (this.#ended ??= createDeferred<void>()).promise;
  }

  /** Starts the process. An abort of the caller in the meantime ends it as a failed start, as containerd does. */
  async start(signal?: AbortSignal): Promise<void> {
    const { clock, files } = this.#deps;
    const { image, logPath } = this.init;
    try {
      await clock.sleep(durationMs(image.start), signal);
    } catch (error) {
      await this.exit(128, 'StartError');
      throw error;
    }
    if (logPath !== '') {
      await files.makeDir(logPath.slice(0, logPath.lastIndexOf('/')));
      await files.writeFile(logPath, '');
    }
    this.state = 'CONTAINER_RUNNING';
    this.startedAtMs = clock.nowMs();
    this.init.onChange(this, 'started');
    this.#watchMemory();
    const crashes = this.init.countStart();
    if (image.run !== undefined && !crashes) void this.#run(image.run);
    else this.#behave(crashes);
  }

  /** Sends the stop signal, waits, kills. Resolves when the process has ended; an abort only ends the wait. */
  async stop(graceMs: number, signal?: AbortSignal): Promise<void> {
    if (this.state !== 'CONTAINER_RUNNING') return;
    const { clock } = this.#deps;
    const { onStop, run } = this.init.image;
    (this.#stop ??= new AbortController()).abort(new Error('stopped'));
    if (run === undefined && onStop !== 'ignored') {
      const { after, code = 0 } = onStop ?? {};
      this.#later(durationMs(after), () => void this.exit(code));
    }
    if (graceMs > 0) {
      const waiting = linkedController(this.#lifeSignal, signal);
      await Promise.race([this.ended, sleepUnlessAborted(clock, graceMs, waiting.signal)]);
      waiting.abort();
      waiting.dispose();
      // The caller no longer waits: the process has its signal and keeps running.
      signal?.throwIfAborted();
    }
    await this.exit(137);
  }

  /** Ends the process now. Nothing happens when it has ended. */
  async exit(code: number, reason?: string): Promise<void> {
    if (this.state === 'CONTAINER_EXITED') return;
    const { clock } = this.#deps;
    const wasRunning = this.state === 'CONTAINER_RUNNING';
    this.state = 'CONTAINER_EXITED';
    this.exitCode = code;
    this.reason = reason ?? (code === 0 ? 'Completed' : 'Error');
    this.finishedAtMs = clock.nowMs();
    this.#life?.abort(new Error('ended'));
    if (wasRunning && this.init.image.terminationMessage !== undefined)
      await this.#writeMessage(this.init.image.terminationMessage);
    await this.#writes;
    this.#hasEnded = true;
    this.#ended?.resolve();
    this.init.onChange(this, 'stopped', code);
  }

  /** Appends a line to the log. */
  log(line: string, stream: 'stdout' | 'stderr' = 'stdout'): void {
    const { files, clock } = this.#deps;
    if (this.state !== 'CONTAINER_RUNNING') return;
    for (const listener of this.#lineListeners ?? []) listener(line, stream);
    if (this.init.logPath === '') return;
    const text = `${timestamp(clock.nowMs())} ${stream} F ${line}\n`;
    const write = async (): Promise<void> => {
      const handle = await files.open(this.init.logPath, 'a');
      await handle.append(text);
      await handle.close();
    };
    // A full disk loses lines, as with a real runtime, and does not keep a container from ending.
    this.#writes = this.#afterWrites(write).catch(() => undefined);
  }

  /** Calls back with each new line. The result unregisters. */
  onLine(listener: LineListener): () => void {
    const listeners = (this.#lineListeners ??= new Set());
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** Aborts with the process's end. */
  get #lifeSignal(): AbortSignal {
    if (this.#life === undefined) {
      this.#life = new AbortController();
      if (this.state === 'CONTAINER_EXITED') this.#life.abort(new Error('ended'));
    }
    return this.#life.signal;
  }

  #meterOf(): UsageMeter {
    return (this.#meter ??= createUsageMeter(this.init.image.usage ?? {}, () => {
      const { labels = {} } = this.init.config;
      return {
        namespace: labels['io.kubernetes.pod.namespace'] ?? '',
        podName: labels['io.kubernetes.pod.name'] ?? '',
        containerName: this.init.config.metadata?.name ?? '',
        uptimeMs: this.#deps.clock.nowMs() - this.startedAtMs,
      };
    }));
  }

  /** Checks the memory whenever it may have grown, if the image describes its usage. */
  #watchMemory(): void {
    if (this.init.image.usage === undefined) return;
    const { changesAtMs } = this.#meterOf();
    const beat = (): void => {
      this.#checkMemory();
      this.#later(CHECK_PERIOD_MS, beat);
    };
    if (changesAtMs === undefined) this.#later(0, beat);
    else for (const atMs of changesAtMs) this.#later(atMs, () => this.#checkMemory());
  }

  #checkMemory(): void {
    if (this.state !== 'CONTAINER_RUNNING' || this.init.image.usage === undefined || this.#memoryLimitBytes === 0)
      return;
    if (this.usage().memoryBytes > this.#memoryLimitBytes) void this.exit(137, 'OOMKilled');
  }

  #afterWrites(write: () => Promise<void>): Promise<void> {
    return (this.#writes ?? Promise.resolve()).then(write);
  }

  #later(delayMs: number, action: () => void): void {
    this.#deps.clock.sleep(delayMs, this.#lifeSignal).then(action, () => undefined);
  }

  #behave(crashes: boolean): void {
    const { image } = this.init;
    for (const entry of image.logs ?? []) {
      const { after, line, stream } =
        typeof entry === 'string' ? ({ line: entry } as { after?: number; line: string; stream?: 'stdout' }) : entry;
      if (durationMs(after) === 0) this.log(line, stream);
      else this.#later(durationMs(after), () => this.log(line, stream));
    }
    const exit: SimExit | undefined = crashes ? image.crashes : image.exits;
    if (exit !== undefined) this.#later(durationMs(exit.after), () => void this.exit(exit.code, exit.reason));
  }

  async #run(run: NonNullable<SimImage['run']>): Promise<void> {
    const { config, podIp } = this.init;
    const { clock } = this.#deps;
    const process = {
      args: [...(config.command ?? []), ...(config.args ?? [])],
      environment: this.environment,
      podIp,
      stopped: (this.#stop ??= new AbortController()).signal,
      sleep: (duration: number | string) => clock.sleep(durationMs(duration), this.#lifeSignal),
      log: (line: string, stream?: 'stdout' | 'stderr') => this.log(line, stream),
      terminationMessage: (text: string) => void (this.#writes = this.#afterWrites(() => this.#writeMessage(text))),
    };
    try {
      await this.exit(await run(process));
    } catch (error) {
      if (this.state !== 'CONTAINER_RUNNING') return;
      this.log(error instanceof Error ? (error.stack ?? error.message) : String(error), 'stderr');
      await this.exit(1);
    }
  }

  async #writeMessage(text: string): Promise<void> {
    const path = this.init.config.annotations?.['io.kubernetes.container.terminationMessagePath'];
    // A later mount covers an earlier one.
    const mount = this.init.config.mounts?.findLast((candidate) => candidate.containerPath === path);
    if (mount?.hostPath !== undefined) await this.#deps.files.writeFile(mount.hostPath, text);
  }
}
