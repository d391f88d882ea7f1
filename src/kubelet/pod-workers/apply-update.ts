/** How an update changes the record of its pod. Upstream: UpdatePod in pkg/kubelet/pod_workers.go. */
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import type { PodStatus as RuntimePodStatus } from '../container/runtime.ts';
import {
  createPodSyncStatus,
  effectiveGracePeriod,
  identityOf,
  isRuntimeStatusTerminal,
  type KillPodOptions,
  type PodSyncStatus,
  type UpdatePodOptions,
} from './pod-sync-status.ts';

/**
 * The record of a pod with its first update. A pod of terminal phase that does not run ended before the kubelet
 * started, so only the terminated step is left.
 */
export function firstPodSyncStatus(
  options: UpdatePodOptions,
  runtimeStatus: RuntimePodStatus | undefined,
  nowMs: number,
): PodSyncStatus {
  const status = createPodSyncStatus(identityOf(options));
  if (options.pod === undefined || !isPodPhaseTerminal(options.pod.status?.phase)) return status;
  if (runtimeStatus !== undefined && !isRuntimeStatusTerminal(runtimeStatus)) return status;
  return Object.assign(status, { terminatingAt: nowMs, terminatedAt: nowMs, startedTerminating: true });
}

/** An update from the runtime's view of a pod can only terminate it. If the pod's spec is known, the spec is used. */
export function withKnownSpec(status: PodSyncStatus, options: UpdatePodOptions): UpdatePodOptions {
  if (options.pod !== undefined) return { ...options, runningPod: undefined };
  status.observedRuntime = true;
  const pod = status.pendingUpdate?.pod ?? status.activeUpdate?.pod;
  return pod === undefined ? options : { ...options, pod, runningPod: undefined };
}

/** Records that the update requests termination; false if it does not or if termination was requested before. */
export function requestTermination(
  status: PodSyncStatus,
  options: UpdatePodOptions,
  { isRuntimePod, nowMs }: { readonly isRuntimePod: boolean; readonly nowMs: number },
): boolean {
  if (status.terminatingAt !== undefined) return false;
  const deleted = isRuntimePod || options.pod?.metadata.deletionTimestamp !== undefined;
  const ended = isPodPhaseTerminal(options.pod?.status?.phase);
  if (!deleted && !ended && options.updateType !== 'kill') return false;
  if (deleted) status.deleted = true;
  else if (!ended && options.killPodOptions?.evict === true) status.evicted = true;
  status.terminatingAt = nowMs;
  return true;
}

/** Merges the update's kill options into the record's; `shortened`: the grace period became shorter. */
export function applyKillOptions(
  status: PodSyncStatus,
  options: UpdatePodOptions,
): { readonly killPodOptions: KillPodOptions | undefined; readonly shortened: boolean } {
  const { killPodOptions } = options;
  if (status.terminatingAt === undefined || status.terminatedAt !== undefined) {
    killPodOptions?.onTerminated?.();
    return { killPodOptions: undefined, shortened: false };
  }
  if (killPodOptions?.onTerminated !== undefined) status.onTerminated.push(killPodOptions.onTerminated);
  if (killPodOptions?.podStatus !== undefined) status.statusPostTerminating.push(killPodOptions.podStatus);
  const grace = effectiveGracePeriod(status, options.pod, killPodOptions ?? {});
  status.gracePeriod = grace.seconds;
  return {
    killPodOptions: { ...killPodOptions, gracePeriodSecondsOverride: grace.seconds },
    shortened: grace.shortened,
  };
}

/** Makes this the pending update. It takes over the start time and the callbacks of a pending one. */
export function setPendingUpdate(status: PodSyncStatus, options: UpdatePodOptions): void {
  const replaced = status.pendingUpdate;
  const onComplete = replaced?.onComplete;
  status.pendingUpdate = {
    ...options,
    startTimeMs: replaced?.startTimeMs ?? options.startTimeMs,
    onComplete:
      onComplete === undefined
        ? options.onComplete
        : (error) => {
            onComplete(error);
            options.onComplete?.(error);
          },
  };
}

/**
 * Whether housekeeping may remove the record: the pod has finished or never started. Otherwise an orphan must be
 * terminated first.
 */
export function isRemovable(status: PodSyncStatus, orphan: boolean): boolean {
  return status.finished || (orphan && status.startedAt === undefined && !status.observedRuntime);
}
