/** What pod workers call to do the work, and what others ask pod workers. Upstream: podSyncer and PodWorkers in pkg/kubelet/pod_workers.go. */
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
  /** The pod's work is over: it moves to terminating. */
  readonly terminal: boolean;
  /** When a back-off ends: the pod is synced again then. */
  readonly retryAfterMs?: number | undefined;
  /**
   * Stamp right after the last action on the runtime: the next step waits for an observation that began later.
   * Undefined: nothing was changed, what was observed still holds.
   */
  readonly actedAt?: ObservationStamp | undefined;
}

/** A failed sync, with the time after which a retry may succeed. */
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

/** A worker as housekeeping sees it. */
export interface PodWorkerSync {
  readonly state: PodWorkType;
  /** The configuration no longer has the pod. */
  readonly orphan: boolean;
  /** The worker has seen the pod's spec, not only its containers. */
  readonly hasConfig: boolean;
  readonly isStatic: boolean;
}

/** The state of pods for the rest of the kubelet. Unknown pods count as gone once all sources have been seen. */
export interface PodStateProvider {
  isPodKnownTerminated(uid: string): boolean;
  couldHaveRunningContainers(uid: string): boolean;
  shouldPodBeFinished(uid: string): boolean;
  isPodTerminationRequested(uid: string): boolean;
  /** Containers are being stopped or should be: start none. */
  shouldPodContainersBeTerminating(uid: string): boolean;
  /** All containers have stopped: volumes may be unmounted, cgroups removed. */
  shouldPodRuntimeBeRemoved(uid: string): boolean;
  /** Logs and dead containers may go too: the pod was deleted or evicted. */
  shouldPodContentBeRemoved(uid: string): boolean;
  isPodForMirrorPodTerminatingByFullName(fullName: string): boolean;
}

export interface PodWorkers extends PodStateProvider {
  /** Hands a change to the pod's worker. Never waits. */
  updatePod(options: UpdatePodOptions): void;
  /** Removes finished workers of pods not in `desired`, ends orphans, and returns the remaining workers. */
  syncKnownPods(desired: readonly Pod[]): ReadonlyMap<string, PodWorkerSync>;
  /** Those of `desired` whose containers run or may run, and pods no longer desired that still end. */
  podsWithRuntime(desired: readonly Pod[]): readonly Pod[];
  /** Aborts syncs in progress and starts no more; resolves when all have ended. Containers stay as they are. */
  stop(): Promise<void>;
}

export interface PodWorkersDeps {
  readonly platform: BasePlatform;
  readonly recorder: KubeletEventRecorder;
  readonly podSyncer: PodSyncer;
  readonly podCache: PodCache;
  readonly workQueue: WorkQueue;
  /** Records the steps of pods that somebody observes. */
  readonly activity?: ActivitySink;
}
