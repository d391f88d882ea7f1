/**
 * The record that pod workers keep of one pod, and the pure rules over it. Upstream: podSyncStatus in pkg/kubelet/pod_workers.go.
 *
 * A pod's life here: syncing → terminating → terminated → finished, never backwards. Times are monotonic milliseconds.
 */
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import type { PodStatus as RuntimePodStatus, RuntimePod } from '../container/runtime.ts';
import { podFullName, podUid, type SyncPodType } from '../types/pod-update.ts';

export interface KillPodOptions {
  /** Called once when the containers have stopped, or when the request is dropped. */
  readonly onTerminated?: () => void;
  /** The pod is evicted: `podStatus` changes its status, and it stays in the API. */
  readonly evict?: boolean;
  /** Changes the status while terminating: reason, message, conditions of an eviction. */
  readonly podStatus?: (status: PodStatus) => PodStatus;
  /** Requests a shorter grace period; a longer one has no effect. */
  readonly gracePeriodSecondsOverride?: number;
}

/** A request to a pod's worker. It has either `pod` or `runningPod`, the latter for pods that only the runtime knows. */
export interface UpdatePodOptions {
  readonly updateType: SyncPodType;
  readonly pod?: Pod | undefined;
  readonly mirrorPod?: Pod | undefined;
  readonly runningPod?: RuntimePod | undefined;
  readonly killPodOptions?: KillPodOptions | undefined;
  /** When the kubelet saw the change, monotonic milliseconds; for latency metrics. */
  readonly startTimeMs?: number | undefined;
  /** Called after the sync that took this update, with its error. An update that replaces a waiting one takes over its callback. */
  readonly onComplete?: ((error: unknown) => void) | undefined;
}

/** The step of a worker. Upstream: PodWorkerState (SyncPod, TerminatingPod, TerminatedPod). */
export type PodWorkType = 'sync' | 'terminating' | 'terminated';

/** A step handed to the worker. */
export interface PodWork {
  readonly workType: PodWorkType;
  readonly options: UpdatePodOptions;
}

/** The record of one pod. Mutable, owned by the pod workers. */
export interface PodSyncStatus {
  readonly uid: string;
  readonly fullName: string;
  /** Cancels the sync in progress: the worker sets it; it is used when termination begins. */
  controller: AbortController | undefined;
  /** A worker loop runs for this pod, or an update waits for one. Upstream: working / isWorking. */
  working: boolean;
  /** The newest update that no sync has taken yet; a newer one replaces it. Formerly lastUndeliveredWorkUpdate. */
  pendingUpdate: UpdatePodOptions | undefined;
  /** The update last taken by a sync. */
  activeUpdate: UpdatePodOptions | undefined;
  /** The stamp at the end of the last sync. 0: never. */
  lastSyncStamp: number;
  startedAt: number | undefined;
  terminatingAt: number | undefined;
  terminatedAt: number | undefined;
  /** Seconds; 0 until termination is requested. */
  gracePeriod: number;
  onTerminated: (() => void)[];
  statusPostTerminating: ((status: PodStatus) => PodStatus)[];
  startedTerminating: boolean;
  deleted: boolean;
  evicted: boolean;
  finished: boolean;
  /** A pod of the same uid was created while this one ends. */
  restartRequested: boolean;
  /** The runtime had containers of this pod that was not desired. */
  observedRuntime: boolean;
}

export function createPodSyncStatus(identity: { uid: string; fullName: string }): PodSyncStatus {
  return {
    ...identity,
    controller: undefined,
    working: false,
    pendingUpdate: undefined,
    activeUpdate: undefined,
    lastSyncStamp: 0,
    startedAt: undefined,
    terminatingAt: undefined,
    terminatedAt: undefined,
    gracePeriod: 0,
    onTerminated: [],
    statusPostTerminating: [],
    startedTerminating: false,
    deleted: false,
    evicted: false,
    finished: false,
    restartRequested: false,
    observedRuntime: false,
  };
}

/** Uid and full name of the pod an update is about. */
export function identityOf(options: UpdatePodOptions): { uid: string; fullName: string } {
  const { pod, runningPod } = options;
  if (pod !== undefined) return { uid: podUid(pod), fullName: podFullName(pod) };
  if (runningPod === undefined) throw new Error('a pod update needs a pod or a running pod');
  return { uid: runningPod.uid, fullName: `${runningPod.name}_${runningPod.namespace}` };
}

/** The pod's current step. */
export function workTypeOf(status: PodSyncStatus): PodWorkType {
  if (status.terminatedAt !== undefined) return 'terminated';
  return status.terminatingAt === undefined ? 'sync' : 'terminating';
}

/** Makes this the active update, with the kill options of the previous one where it has none. */
export function mergeLastUpdate(status: PodSyncStatus, other: UpdatePodOptions): void {
  const active = status.activeUpdate;
  status.activeUpdate = {
    updateType: other.updateType,
    pod: other.pod ?? active?.pod,
    mirrorPod: other.mirrorPod ?? active?.mirrorPod,
    runningPod: other.pod === undefined ? other.runningPod : undefined,
    killPodOptions: other.killPodOptions ?? active?.killPodOptions,
    startTimeMs: other.startTimeMs,
  };
}

/** The effective grace period: it only shrinks and is at least one second. */
export function effectiveGracePeriod(
  status: PodSyncStatus,
  pod: Pod | undefined,
  options: KillPodOptions,
): { seconds: number; shortened: boolean } {
  let seconds = status.gracePeriod;
  for (const override of [pod?.metadata.deletionGracePeriodSeconds, options.gracePeriodSecondsOverride]) {
    if (override !== undefined && (seconds === 0 || override < seconds)) seconds = Number(override);
  }
  if (seconds === 0) seconds = Number(pod?.spec?.terminationGracePeriodSeconds ?? 0);
  seconds = Math.max(seconds, 1);
  return { seconds, shortened: status.gracePeriod !== 0 && status.gracePeriod !== seconds };
}

/** Whether the runtime has neither running containers nor a ready sandbox of the pod. */
export function isRuntimeStatusTerminal(status: RuntimePodStatus): boolean {
  if (status.containers.some((container) => container.state === 'running' || container.state === 'unknown'))
    return false;
  return !status.sandboxes.some((sandbox) => sandbox.ready);
}
