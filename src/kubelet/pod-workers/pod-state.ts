/**
 * The records of all pods, and the queries that they answer. Upstream: the query methods of podWorkers
 * (PodStateProvider). A pod without a record is unknown until the workers have been compared with the desired pods
 * once; after that it is gone.
 */
import type { PodStateProvider } from './pod-syncer.ts';
import type { PodSyncStatus } from './pod-sync-status.ts';
import { createStaticPodOrder } from './static-pod-order.ts';

/** Only the pod workers change it. */
export class PodStates implements PodStateProvider {
  protected readonly podSyncStatuses = new Map<string, PodSyncStatus>();
  protected readonly staticPods = createStaticPodOrder();
  /** Whether the workers have been compared with the desired pods at least once. */
  protected podsSynced = false;

  isPodKnownTerminated(uid: string): boolean {
    return this.podSyncStatuses.get(uid)?.terminatedAt !== undefined;
  }

  couldHaveRunningContainers(uid: string): boolean {
    const status = this.podSyncStatuses.get(uid);
    return status === undefined ? !this.podsSynced : status.terminatedAt === undefined;
  }

  shouldPodBeFinished(uid: string): boolean {
    return this.podSyncStatuses.get(uid)?.finished ?? this.podsSynced;
  }

  isPodTerminationRequested(uid: string): boolean {
    return this.podSyncStatuses.get(uid)?.terminatingAt !== undefined;
  }

  shouldPodContainersBeTerminating(uid: string): boolean {
    return this.podSyncStatuses.get(uid)?.startedTerminating ?? this.podsSynced;
  }

  shouldPodRuntimeBeRemoved(uid: string): boolean {
    const status = this.podSyncStatuses.get(uid);
    return status === undefined ? this.podsSynced : status.terminatedAt !== undefined;
  }

  shouldPodContentBeRemoved(uid: string): boolean {
    const status = this.podSyncStatuses.get(uid);
    if (status === undefined) return this.podsSynced;
    return status.evicted || (status.deleted && status.terminatedAt !== undefined);
  }

  isPodForMirrorPodTerminatingByFullName(fullName: string): boolean {
    const uid = this.staticPods.started(fullName);
    return uid !== undefined && this.podSyncStatuses.get(uid)?.terminatingAt !== undefined;
  }
}
