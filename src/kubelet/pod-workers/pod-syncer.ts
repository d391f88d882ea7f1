/**
 * The interface that pod workers call for each step, and their own interface. Upstream: podSyncer and PodWorkers in
 * pkg/kubelet/pod_workers.go.
 */
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { ObservationStamp, PodCache } from '../container/pod-cache.ts';
import type { PodStatus as RuntimePodStatus, RuntimePod } from '../container/runtime.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { ActivitySink } from '../pod/activity-recorder.ts';
import type { SyncPodType } from '../types/pod-update.ts';
import type { PodWorkType, UpdatePodOptions } from './pod-sync-status.ts';
import type { WorkQueue } from './work-queue.ts';

/** The result of a sync of a running pod. */
export interface SyncPodOutcome {
  /** The pod has finished: it moves to terminating. */
  readonly terminal: boolean;
  /** When a back-off ends and the pod is synced again. */
  readonly retryAfterMs?: number | undefined;
  /**
   * The stamp after the last action on the runtime: the next step waits for a later observation. Undefined: nothing
   * was changed, so the last observation is still valid.
   */
  readonly actedAt?: ObservationStamp | undefined;
}

/** A failed sync, and the time after which a retry may succeed. */
export class PodSyncError extends Error {
  readonly retryAfterMs: number | undefined;
  constructor(message: string, options?: ErrorOptions & { retryAfterMs?: number | undefined }) {
    super(message, options);
    this.name = 'PodSyncError';
    this.retryAfterMs = options?.retryAfterMs;
  }
}

/** The four steps of a pod's life. Each may be called again after a failure and must be idempotent. */
export interface PodSyncer {
  syncPod(request: {
    updateType: SyncPodType;
    pod: Pod;
    mirrorPod: Pod | undefined;
    podStatus: RuntimePodStatus;
    signal: AbortSignal;
  }): Promise<SyncPodOutcome>;
  syncTerminatingPod(request: {
    pod: Pod;
    podStatus: RuntimePodStatus;
    gracePeriodSeconds: number | undefined;
    changeStatus: ((status: PodStatus) => PodStatus) | undefined;
    signal: AbortSignal;
  }): Promise<{ actedAt: ObservationStamp }>;
  syncTerminatingRuntimePod(runningPod: RuntimePod, signal: AbortSignal): Promise<void>;
  syncTerminatedPod(request: { pod: Pod; podStatus: RuntimePodStatus; signal: AbortSignal }): Promise<void>;
}

/** A worker, for housekeeping. */
export interface PodWorkerSync {
  readonly state: PodWorkType;
  /** The pod is no longer desired. */
  readonly orphan: boolean;
  /** The worker knows the pod's spec, not only its containers. */
  readonly hasConfig: boolean;
  readonly isStatic: boolean;
}

/** The state of pods for other parts of the kubelet. Once all sources are ready, unknown pods count as gone. */
export interface PodStateProvider {
  isPodKnownTerminated(uid: string): boolean;
  couldHaveRunningContainers(uid: string): boolean;
  shouldPodBeFinished(uid: string): boolean;
  isPodTerminationRequested(uid: string): boolean;
  /** Containers are being stopped or should be: none may be started. */
  shouldPodContainersBeTerminating(uid: string): boolean;
  /** All containers have stopped: volumes may be unmounted, cgroups removed. */
  shouldPodRuntimeBeRemoved(uid: string): boolean;
  /** Logs and exited containers may be removed too: the pod was deleted or evicted. */
  shouldPodContentBeRemoved(uid: string): boolean;
  isPodForMirrorPodTerminatingByFullName(fullName: string): boolean;
}

export interface PodWorkers extends PodStateProvider {
  /** Passes a change to the pod's worker without waiting. */
  updatePod(options: UpdatePodOptions): void;
  /** Removes finished workers of pods not in `desired`, terminates orphans, and returns the remaining workers. */
  syncKnownPods(desired: readonly Pod[]): ReadonlyMap<string, PodWorkerSync>;
  /** The pods of `desired` whose containers run or may run, and undesired pods that are still terminating. */
  podsWithRuntime(desired: readonly Pod[]): readonly Pod[];
  /** Aborts syncs in progress and starts no more; resolves when all have ended. Containers keep running. */
  stop(): Promise<void>;
}

export interface PodWorkersDeps {
  readonly platform: BasePlatform;
  readonly recorder: KubeletEventRecorder;
  readonly podSyncer: PodSyncer;
  readonly podCache: PodCache;
  readonly workQueue: WorkQueue;
  /** Records the steps of observed pods. */
  readonly activity?: ActivitySink;
}
