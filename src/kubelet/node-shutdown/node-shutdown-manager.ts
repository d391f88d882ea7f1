/**
 * Terminates pods when the machine is about to shut down: by priority, lowest first, each group with its grace
 * period. From then on the node is not ready and admits no pods. Upstream: pkg/kubelet/nodeshutdown.
 *
 * Announcements come from a port: systemd-logind (logind.ts) on a machine, a fake in tests.
 */
import { onAbort } from '../../base/abort.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { KillPodFunc } from '../pod-workers/kill-pod-now.ts';
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../api/time.ts';
import type { EventTarget } from '../../client/event-recorder.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { AdmissionResult } from '../admission/predicate.ts';
import { podFields } from '../types/pod-update.ts';

/** The grace period of pods of at least this priority and below the next group's. */
export interface ShutdownGroup {
  readonly priority: number;
  readonly gracePeriodSeconds: number;
}

/** Announces shutdowns, and delays them. */
export interface ShutdownSource {
  /** Calls back when a shutdown begins (true) or is cancelled (false); returns a function that removes the listener. */
  onShutdown(listener: (active: boolean) => void): () => void;
  /** The pods have ended: stops delaying the shutdown. */
  release(): void;
}

export interface NodeShutdownDeps {
  readonly platform: BasePlatform;
  readonly recorder: KubeletEventRecorder;
  readonly nodeRef: EventTarget;
  readonly source: ShutdownSource;
  readonly activePods: () => readonly Pod[];
  readonly killPod: KillPodFunc;
  /** Called when the node's readiness changed. */
  readonly onChange: () => void;
}

export interface NodeShutdownManager {
  start(signal: AbortSignal): void;
  /** Why the node is not ready; undefined while there is no shutdown. */
  problem(): string | undefined;
  admit(): AdmissionResult;
}

const MESSAGE = 'Pod was terminated in response to imminent node shutdown.';

/** The groups of the two simple settings: critical pods get their own period at the end. */
export function shutdownGroups(periods: {
  readonly totalSeconds: number;
  readonly criticalSeconds: number;
}): ShutdownGroup[] {
  if (periods.totalSeconds === 0) return [];
  return [
    { priority: 0, gracePeriodSeconds: periods.totalSeconds - periods.criticalSeconds },
    { priority: 2_000_000_000, gracePeriodSeconds: periods.criticalSeconds },
  ];
}

/** Pods by group, lowest priority first; pods below the lowest group are added to it. */
export function podsByGroup(
  pods: readonly Pod[],
  groups: readonly ShutdownGroup[],
): { readonly group: ShutdownGroup; readonly pods: Pod[] }[] {
  const sorted = [...groups].sort((a, b) => a.priority - b.priority);
  const parts = sorted.map((group) => ({ group, pods: [] as Pod[] }));
  for (const pod of pods) {
    const priority = pod.spec?.priority ?? 0;
    const part = parts.findLast(({ group }) => group.priority <= priority) ?? parts[0];
    part?.pods.push(pod);
  }
  return parts.filter((part) => part.pods.length > 0);
}

function terminatedStatus(status: PodStatus, now: string): PodStatus {
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'TerminationByKubelet',
    message: MESSAGE,
    lastTransitionTime: now,
  };
  const others = (status.conditions ?? []).filter(({ type }) => type !== condition.type);
  const phase = isPodPhaseTerminal(status.phase) ? status.phase : 'Failed';
  return { ...status, phase, reason: 'Terminated', message: MESSAGE, conditions: [...others, condition] };
}

/** Without groups it does nothing. */
export function createNodeShutdownManager(
  deps: NodeShutdownDeps,
  groups: readonly ShutdownGroup[],
): NodeShutdownManager {
  const { clock } = deps.platform;
  const log = deps.platform.log.child('node-shutdown');
  let active = false;
  const startTime = deps.platform.metrics.gauge({
    name: 'kubelet_graceful_shutdown_start_time_seconds',
    help: 'Last graceful shutdown start time since unix epoch in seconds',
  });
  const endTime = deps.platform.metrics.gauge({
    name: 'kubelet_graceful_shutdown_end_time_seconds',
    help: 'Last graceful shutdown end time since unix epoch in seconds',
  });

  async function endGroup(pods: readonly Pod[], { gracePeriodSeconds }: ShutdownGroup): Promise<void> {
    const over = new AbortController();
    const killed = pods.map((pod) => {
      const own = pod.spec?.terminationGracePeriodSeconds ?? 30;
      const changeStatus = (status: PodStatus): PodStatus => terminatedStatus(status, formatTime(clock.nowMs()));
      return deps
        .killPod({ pod, gracePeriodSeconds: Math.min(Number(own), gracePeriodSeconds), changeStatus })
        .catch((error: unknown) => log.error('Shutdown manager failed killing pod', { ...podFields(pod), err: error }));
    });
    await Promise.race([Promise.all(killed), sleepUnlessAborted(clock, gracePeriodSeconds * 1000, over.signal)]);
    over.abort();
  }

  async function shutDown(): Promise<void> {
    startTime.set(clock.nowMs() / 1000);
    endTime.set(0);
    deps.recorder.event(deps.nodeRef, 'Normal', 'Shutdown', 'Shutdown manager detected shutdown event');
    for (const { group, pods } of podsByGroup(deps.activePods(), groups)) {
      if (!active) return;
      await endGroup(pods, group);
    }
    deps.source.release();
    endTime.set(clock.nowMs() / 1000);
  }

  function onShutdown(now: boolean): void {
    if (now === active) return;
    active = now;
    deps.onChange();
    if (active) shutDown().catch((error: unknown) => log.error('Shutdown manager failed', { err: error }));
  }

  return {
    start(signal) {
      if (groups.length === 0) return;
      onAbort(signal, deps.source.onShutdown(onShutdown));
    },
    problem: () => (active ? 'node is shutting down' : undefined),
    admit: () =>
      active
        ? { admit: false, reason: 'NodeShutdown', message: 'Pod was rejected as the node is shutting down.' }
        : { admit: true },
  };
}
