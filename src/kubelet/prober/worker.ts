/**
 * Runs one probe of one container periodically; enough equal results in a row become the probe's result. Upstream:
 * pkg/kubelet/prober/worker.go.
 *
 * Differs: readiness and startup are first probed as soon as the container's status shows it running and the initial delay is
 * over, not at the next tick of the period; a startup failure of that probe does not count, so that every container has
 * upstream's time. The random delay after a restart of the kubelet applies only to containers that were running before it. An
 * annotation may shorten the period.
 */
import type { Container, ContainerStatus, Pod, PodStatus, Probe } from '../../api/gen/core-v1.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import { formatTime, parseTime } from '../../api/time.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { background } from '../../platform/unexpected.ts';
import type { ContainerEnding, ProbeAnswer } from '../../api/pod-node-state.ts';
import { containerShouldRestart } from '../container/restart-policy.ts';
import type { AwaitedProbe } from '../pod/start-steps.ts';
import { podUid } from '../types/pod-update.ts';
import { probePeriod } from './probe-period.ts';
import type { Prober } from './prober.ts';
import type { ResultsManager } from './results-manager.ts';
import type { ProbeResult, ProbeType } from './results.ts';

export interface ProbeWorker {
  readonly type: ProbeType;
  /** Probes now, or after the probe in progress; the period starts again. */
  trigger(): void;
  /** Probes now if this container (bare id) has not been probed yet; a failure of that probe does not count. */
  triggerIfNew(containerId: string): void;
  /** The last result of this container; undefined before the first. */
  answer(): ProbeAnswer | undefined;
  stop(): void;
}

export interface ProbeWorkerDeps {
  readonly clock: Clock;
  readonly prober: Prober;
  readonly results: ResultsManager;
  readonly podStatus: () => PodStatus | undefined;
  /** The pod's current spec. */
  readonly currentPod: () => Pod;
  /** Wall-clock time of the kubelet's start, and a random number in [0, 1). */
  readonly startedAtMs: number;
  readonly random: () => number;
  /** The container runs, and the pod's start waits for this probe. Undefined: the pod is not starting. */
  readonly probing: () => AwaitedProbe | undefined;
  /** The worker has ended by itself. */
  readonly onEnd: () => void;
  readonly count: (result: ProbeResult) => void;
  /** The probe failed as often as its threshold allows, so the container is killed. */
  readonly ended: (ending: ContainerEnding) => void;
  readonly log: Log;
}

/** The longest probe output in a pod's state. */
const MAX_OUTPUT_CHARS = 1024;

const INITIAL: Readonly<Record<ProbeType, ProbeResult>> = {
  liveness: 'success',
  readiness: 'failure',
  startup: 'unknown',
};

const ENDINGS = { liveness: 'LivenessProbe', startup: 'StartupProbe' } as const;

/** `containerd://x` → `x`. */
export function bareContainerId(containerId: string | undefined): string {
  return containerId === undefined
    ? ''
    : containerId.slice(containerId.indexOf('://') + (containerId.includes('://') ? 3 : 1));
}

export function startProbeWorker(
  deps: ProbeWorkerDeps,
  target: { container: Container; type: ProbeType; spec: Probe },
): ProbeWorker {
  return new ContainerProbeWorker(deps, target);
}

class ContainerProbeWorker implements ProbeWorker {
  readonly #deps: ProbeWorkerDeps;
  readonly #container: Container;
  readonly #spec: Probe;
  readonly #periodMs: number;
  readonly type: ProbeType;
  #containerId = '';
  #onHold = false;
  #awaited: AwaitedProbe | undefined;
  #probed = false;
  /** A failure of the next probe does not count. */
  #failureIsFree = false;
  #lastResult: ProbeResult | undefined;
  #lastTry: { readonly result: ProbeResult; readonly output: string; readonly atMs: number } | undefined;
  #resultRun = 0;
  #stopped = false;
  #probing = false;
  #again = false;
  #cancelTimer: CancelTimer | undefined;

  constructor(deps: ProbeWorkerDeps, target: { container: Container; type: ProbeType; spec: Probe }) {
    this.#deps = deps;
    this.#container = target.container;
    this.#spec = target.spec;
    this.type = target.type;
    this.#periodMs = probePeriod(deps.currentPod(), target.type, target.spec).periodMs;
    this.#run();
  }

  answer(): ProbeAnswer | undefined {
    const { type } = this;
    if (this.#lastTry === undefined) return undefined;
    const { result, output, atMs } = this.#lastTry;
    const run = { inRow: result === this.#lastResult ? this.#resultRun : 0, threshold: this.#threshold(result) };
    return { container: this.#container.name, type, result, output, at: formatTime(atMs), ...run };
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer?.();
    this.#awaited?.end();
    if (this.#containerId !== '') this.#deps.results.remove(this.type, this.#containerId);
  }

  trigger(): void {
    // A status update calls this before it stores the new status; the probe runs after that, in the same turn of the
    // event loop.
    queueMicrotask(() => this.#run());
  }

  triggerIfNew(id: string): void {
    if (this.#probed && id === this.#containerId) return;
    this.#failureIsFree = true;
    queueMicrotask(() => this.#run());
  }

  #setResult(result: ProbeResult): void {
    if (result === 'success') this.#awaited?.end();
    this.#deps.results.set({
      type: this.type,
      containerId: this.#containerId,
      podUid: podUid(this.#deps.currentPod()),
      result,
    });
  }

  #setTimer(delayMs: number): void {
    this.#cancelTimer?.();
    this.#cancelTimer = this.#deps.clock.setTimer(delayMs, () => this.#run());
  }

  #run(): void {
    if (this.#stopped) return;
    if (this.#probing) {
      this.#again = true;
      return;
    }
    this.#probing = true;
    this.#cancelTimer?.();
    const probing = this.#doProbe().catch((error: unknown) => {
      this.#deps.log.unexpected('a probe broke off', error, {
        container: this.#container.name,
        type: this.type,
      });
      return this.#periodMs;
    });
    const started = probing.then((nextMs) => {
      this.#probing = false;
      if (this.#stopped) return;
      if (nextMs === undefined) {
        this.stop();
        this.#deps.onEnd();
      } else if (this.#again) {
        this.#again = false;
        this.#run();
      } else this.#setTimer(nextMs);
    });
    background(this.#deps.log, 'a probe could not go on', started);
  }

  #probeNewContainer(status: ContainerStatus): void {
    if (this.#containerId !== '') this.#deps.results.remove(this.type, this.#containerId);
    this.#containerId = bareContainerId(status.containerID);
    this.#awaited?.end();
    this.#awaited = undefined;
    this.#onHold = false;
    this.#probed = false;
    this.#lastResult = undefined;
    this.#lastTry = undefined;
    this.#resultRun = 0;
    // A container that was ready before a restart of the kubelet stays so until a probe fails.
    const initial =
      this.type === 'readiness' && status.ready && this.#startedBefore(status) ? 'success' : INITIAL[this.type];
    this.#setResult(initial);
  }

  #startedBefore(status: ContainerStatus): boolean {
    return parseTime(status.state?.running?.startedAt) < this.#deps.startedAtMs;
  }

  /** Milliseconds until the next probe; undefined ends the worker. */
  async #doProbe(): Promise<number | undefined> {
    const podStatus = this.#deps.podStatus();
    if (podStatus === undefined) return this.#periodMs;
    if (isPodPhaseTerminal(podStatus.phase)) return undefined;
    const isOwn = ({ name }: ContainerStatus): boolean => name === this.#container.name;
    const status = podStatus.containerStatuses?.find(isOwn) ?? podStatus.initContainerStatuses?.find(isOwn);
    if (status?.containerID === undefined) return this.#periodMs;
    const isNew = bareContainerId(status.containerID) !== this.#containerId;
    if (isNew) this.#probeNewContainer(status);
    if (this.#onHold) return this.#periodMs;
    if (status.state?.running === undefined) {
      this.#setResult('failure');
      const exitCode = status.state?.terminated?.exitCode;
      return exitCode !== undefined && !containerShouldRestart(this.#container, this.#deps.currentPod(), exitCode)
        ? undefined
        : this.#periodMs;
    }
    if (this.#deps.currentPod().metadata.deletionTimestamp !== undefined && this.type !== 'readiness') {
      this.#setResult('success');
      return undefined;
    }
    if (isNew && this.#startedBefore(status)) return this.#deps.random() * this.#periodMs;
    // The startup probe runs until the container has started; the others run after it.
    const isDue = (status.started === true) !== (this.type === 'startup');
    if (isDue && this.type !== 'liveness') this.#awaited ??= this.#deps.probing();
    const delayMs = this.#initialDelayMs(status);
    if (delayMs > 0) return Math.min(delayMs, this.#periodMs);
    if (!isDue) return this.#periodMs;
    await this.#probeOnce(podStatus);
    return this.#periodMs;
  }

  #initialDelayMs(status: ContainerStatus): number {
    const delayMs = (this.#spec.initialDelaySeconds ?? 0) * 1000;
    const startedMs = parseTime(status.state?.running?.startedAt);
    return delayMs === 0 || Number.isNaN(startedMs) ? 0 : startedMs + delayMs - this.#deps.clock.nowMs();
  }

  async #probeOnce(podStatus: PodStatus): Promise<void> {
    const probedId = this.#containerId;
    this.#probed = true;
    const failureIsFree = this.#failureIsFree;
    this.#failureIsFree = false;
    const { result, output } = await this.#deps.prober.probe({
      type: this.type,
      spec: this.#spec,
      pod: this.#deps.currentPod(),
      podStatus,
      container: this.#container,
      containerId: this.#containerId,
    });
    if (this.#stopped || probedId !== this.#containerId) return;
    this.#lastTry = { result, output: output.slice(0, MAX_OUTPUT_CHARS), atMs: this.#deps.clock.nowMs() };
    // A probe without a result changes nothing; neither does one of a container that was replaced meanwhile.
    if (result === 'unknown') return;
    this.#deps.count(result);
    this.#awaited?.tried();
    if (failureIsFree && result === 'failure') return;
    this.#resultRun = result === this.#lastResult ? this.#resultRun + 1 : 1;
    this.#lastResult = result;
    if (this.#resultRun < this.#threshold(result)) return;
    this.#setResult(result);
    if (this.type !== 'readiness' && result === 'failure') this.#noteEnding(ENDINGS[this.type]);
    if (this.type === 'startup' || (this.type === 'liveness' && result === 'failure')) {
      // The container is being restarted, or has started: the worker waits for a new container.
      this.#onHold = true;
      this.#resultRun = 0;
    }
  }

  #noteEnding(reason: ContainerEnding['reason']): void {
    const { output = '', atMs = 0 } = this.#lastTry ?? {};
    const { name: container } = this.#container;
    this.#deps.ended({ container, containerId: this.#containerId, reason, output, at: formatTime(atMs) });
  }

  #threshold(result: ProbeResult): number {
    return result === 'success' ? (this.#spec.successThreshold ?? 1) : (this.#spec.failureThreshold ?? 3);
  }
}
