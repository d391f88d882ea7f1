/**
 * What pod workers remember of one pod, and the pure rules over it. Upstream: podSyncStatus in pkg/kubelet/pod_workers.go.
 *
 * A pod's life here: syncing → terminating → terminated → finished, never backwards. Times are monotonic milliseconds.
 */
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import type { PodStatus as RuntimePodStatus, RuntimePod } from '../container/runtime.ts';
import { podFullName, podUid, type SyncPodType } from '../types/pod-update.ts';

export interface KillPodOptions {
  /** Called once when the containers have stopped (or the request is void). */
  readonly onTerminated?: () => void;
  /** The pod is evicted: its status is changed by `podStatus` and it stays in the API. */
  readonly evict?: boolean;
  /** Changes the status while terminating: reason, message, conditions of an eviction. */
  readonly podStatus?: (status: PodStatus) => PodStatus;
  /** Asks for a faster end; the grace period only ever shrinks. */
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

/** Which part of the life a worker works on. Upstream: PodWorkerState (SyncPod, TerminatingPod, TerminatedPod). */
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
  /** Cancels the sync in progress: set by the worker, used when the pod begins to terminate. */
  controller: AbortController | undefined;
  /** A loop runs for this pod, or an update waits for one. Upstream: working / isWorking. */
  working: boolean;
  /** The newest update no sync has taken yet: at most one, newer replaces older. Formerly lastUndeliveredWorkUpdate. */
  pendingUpdate: UpdatePodOptions | undefined;
  /** The update last taken by a sync. */
  activeUpdate: UpdatePodOptions | undefined;
  /** Order of the last sync's end among the observations of the runtime. 0: never. */
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
  /** The runtime showed containers of this pod that the configuration did not know. */
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

/** The step the pod is at. */
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

/** The grace period that holds now: it only ever shrinks and is at least one second. */
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

/** Whether the runtime shows nothing of the pod that runs. */
export function isRuntimeStatusTerminal(status: RuntimePodStatus): boolean {
  if (status.containers.some((container) => container.state === 'running' || container.state === 'unknown'))
    return false;
  return !status.sandboxes.some((sandbox) => sandbox.ready);
}
