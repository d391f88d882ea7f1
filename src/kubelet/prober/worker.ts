/**
 * Runs one probe of one container again and again, and turns runs of equal outcomes into results. Upstream:
 * pkg/kubelet/prober/worker.go.
 *
 * Differs: readiness and startup are first probed as soon as the container's status says it runs and the initial delay is
 * over, not at the next beat of the period (a startup failure that early does not count, so that no container has less
 * time than upstream gives it); the random wait after a restart of the kubelet applies only to containers that were
 * running before it; an annotation may shorten the period.
 */
import type { Container, ContainerStatus, Pod, PodStatus, Probe } from '../../api/gen/core-v1.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import { parseTime } from '../../api/time.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { background } from '../../platform/unexpected.ts';
import { containerShouldRestart } from '../container/restart-policy.ts';
import { podUid } from '../types/pod-update.ts';
import { probePeriod } from './probe-period.ts';
import type { Prober } from './prober.ts';
import type { ResultsManager } from './results-manager.ts';
import type { ProbeResult, ProbeType } from './results.ts';

export interface ProbeWorker {
  readonly type: ProbeType;
  /** Probes now unless a probe runs; the period starts anew. */
  trigger(): void;
  /** Probes now if this container (bare id) has not been probed yet; a failure of that try does not count. */
  triggerIfNew(containerId: string): void;
  stop(): void;
}

export interface ProbeWorkerDeps {
  readonly clock: Clock;
  readonly prober: Prober;
  readonly results: ResultsManager;
  readonly podStatus: () => PodStatus | undefined;
  /** The pod as configured now. */
  readonly currentPod: () => Pod;
  /** Wall time at which the kubelet started, and a draw in [0, 1). */
  readonly startedAtMs: number;
  readonly random: () => number;
  /** The worker ended by itself. */
  readonly onEnd: () => void;
  readonly count: (result: ProbeResult) => void;
  readonly log: Log;
}

const INITIAL: Readonly<Record<ProbeType, ProbeResult>> = {
  liveness: 'success',
  readiness: 'failure',
  startup: 'unknown',
};

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
  const { clock, results } = deps;
  const { container, type, spec } = target;
  const { periodMs } = probePeriod(deps.currentPod(), type, spec);
  let containerId = '';
  let onHold = false;
  let probed = false;
  let freeTry = false;
  let lastResult: ProbeResult | undefined;
  let resultRun = 0;
  let stopped = false;
  let busy = false;
  let again = false;
  let cancelTimer: CancelTimer | undefined;

  function set(result: ProbeResult): void {
    results.set({ type, containerId, podUid: podUid(deps.currentPod()), result });
  }

  function arm(delayMs: number): void {
    cancelTimer?.();
    cancelTimer = clock.setTimer(delayMs, run);
  }

  function run(): void {
    if (stopped) return;
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    cancelTimer?.();
    const probing = doProbe().catch((error: unknown) => {
      deps.log.unexpected('a probe broke off', error, { container: container.name, type });
      return periodMs;
    });
    const started = probing.then((nextMs) => {
      busy = false;
      if (stopped) return;
      if (nextMs === undefined) {
        end();
        deps.onEnd();
      } else if (again) {
        again = false;
        run();
      } else arm(nextMs);
    });
    background(deps.log, 'a probe could not go on', started);
  }

  function end(): void {
    stopped = true;
    cancelTimer?.();
    if (containerId !== '') results.remove(type, containerId);
  }

  function adopt(status: ContainerStatus): void {
    if (containerId !== '') results.remove(type, containerId);
    containerId = bareContainerId(status.containerID);
    onHold = false;
    probed = false;
    lastResult = undefined;
    resultRun = 0;
    // A container that was found ready after a restart of the kubelet stays so until a probe says otherwise.
    const known = type === 'readiness' && status.ready && startedBefore(status) ? 'success' : INITIAL[type];
    set(known);
  }

  function startedBefore(status: ContainerStatus): boolean {
    return parseTime(status.state?.running?.startedAt) < deps.startedAtMs;
  }

  /** Milliseconds until the next try; undefined ends the worker. */
  async function doProbe(): Promise<number | undefined> {
    const podStatus = deps.podStatus();
    if (podStatus === undefined) return periodMs;
    if (isPodPhaseTerminal(podStatus.phase)) return undefined;
    const statuses = [...(podStatus.containerStatuses ?? []), ...(podStatus.initContainerStatuses ?? [])];
    const status = statuses.find((candidate) => candidate.name === container.name);
    if (status?.containerID === undefined) return periodMs;
    const isNew = bareContainerId(status.containerID) !== containerId;
    if (isNew) adopt(status);
    if (onHold) return periodMs;
    if (status.state?.running === undefined) {
      set('failure');
      const exitCode = status.state?.terminated?.exitCode;
      return exitCode !== undefined && !containerShouldRestart(container, deps.currentPod(), exitCode)
        ? undefined
        : periodMs;
    }
    if (deps.currentPod().metadata.deletionTimestamp !== undefined && type !== 'readiness') {
      set('success');
      return undefined;
    }
    if (isNew && startedBefore(status)) return deps.random() * periodMs;
    const delayMs = initialDelayMs(status);
    if (delayMs > 0) return Math.min(delayMs, periodMs);
    // Startup first; the others wait for it, and it rests once the container has started.
    if ((status.started === true) === (type === 'startup')) return periodMs;
    await probeOnce(podStatus);
    return periodMs;
  }

  function initialDelayMs(status: ContainerStatus): number {
    const delayMs = (spec.initialDelaySeconds ?? 0) * 1000;
    const startedMs = parseTime(status.state?.running?.startedAt);
    return delayMs === 0 || Number.isNaN(startedMs) ? 0 : startedMs + delayMs - clock.nowMs();
  }

  async function probeOnce(podStatus: PodStatus): Promise<void> {
    const of = containerId;
    probed = true;
    const free = freeTry;
    freeTry = false;
    const result = await deps.prober.probe({ type, spec, pod: deps.currentPod(), podStatus, container, containerId });
    // Without a verdict, or for a container that was replaced meanwhile, nothing changes.
    if (result === undefined || stopped || of !== containerId) return;
    deps.count(result);
    if (free && result === 'failure') return;
    resultRun = result === lastResult ? resultRun + 1 : 1;
    lastResult = result;
    const threshold = result === 'failure' ? (spec.failureThreshold ?? 3) : (spec.successThreshold ?? 1);
    if (resultRun < threshold) return;
    set(result);
    if (type === 'startup' || (type === 'liveness' && result === 'failure')) {
      // The container is restarted, or has started: rest until there is a new one.
      onHold = true;
      resultRun = 0;
    }
  }

  run();
  return {
    type,
    // Status generation triggers before the status it makes is stored: probe after that, in the same turn of the loop.
    trigger: () => queueMicrotask(run),
    triggerIfNew(id) {
      if (probed && id === containerId) return;
      freeTry = true;
      queueMicrotask(run);
    },
    stop: end,
  };
}
