/**
 * Questions about a pod's state, answered from the pod workers' records. Upstream: the PodWorkers query methods and
 * PodStateProvider. A pod without a record is unknown until the sources have been seen once; after that it is gone.
 */
import type { PodStateProvider } from './pod-syncer.ts';
import type { PodSyncStatus } from './pod-sync-status.ts';

/** Answers from these records. */
export function createPodStateProvider(records: {
  find(uid: string): PodSyncStatus | undefined;
  podsSynced(): boolean;
  startedStatic(fullName: string): string | undefined;
}): PodStateProvider {
  const { find, podsSynced } = records;
  return {
    isPodKnownTerminated: (uid) => find(uid)?.terminatedAt !== undefined,
    couldHaveRunningContainers(uid) {
      const status = find(uid);
      return status === undefined ? !podsSynced() : status.terminatedAt === undefined;
    },
    shouldPodBeFinished: (uid) => find(uid)?.finished ?? podsSynced(),
    isPodTerminationRequested: (uid) => find(uid)?.terminatingAt !== undefined,
    shouldPodContainersBeTerminating: (uid) => find(uid)?.startedTerminating ?? podsSynced(),
    shouldPodRuntimeBeRemoved(uid) {
      const status = find(uid);
      return status === undefined ? podsSynced() : status.terminatedAt !== undefined;
    },
    shouldPodContentBeRemoved(uid) {
      const status = find(uid);
      if (status === undefined) return podsSynced();
      return status.evicted || (status.deleted && status.terminatedAt !== undefined);
    },
    isPodForMirrorPodTerminatingByFullName(fullName) {
      const uid = records.startedStatic(fullName);
      return uid !== undefined && find(uid)?.terminatingAt !== undefined;
    },
  };
}
