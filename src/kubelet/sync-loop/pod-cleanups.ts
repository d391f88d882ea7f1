/**
 * Housekeeping: removes finished workers, ends pods that run but are not desired, starts pods whose uid was reused,
 * and removes what pods left behind. Upstream: HandlePodCleanups in pkg/kubelet/kubelet_pods.go.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { PodWorkCounts } from '../metrics/pod-counts.ts';
import type { PodStarts } from '../metrics/pod-starts.ts';
import type { AllocationManager } from '../allocation/allocation-manager.ts';
import type { PodContainerManager } from '../cgroups/pod-container-manager.ts';
import type { ContainerRuntime, RuntimePod } from '../container/runtime.ts';
import type { MirrorClient } from '../pod/mirror-client.ts';
import type { PodManager } from '../pod/pod-manager.ts';
import type { PodDirectories } from '../pod/pod-directories.ts';
import type { PodWorkers, PodWorkerSync } from '../pod-workers/pod-syncer.ts';
import type { ProbeManager } from '../prober/prober-manager.ts';
import type { StatusManager } from '../status/status-manager.ts';
import { podUid } from '../types/pod-update.ts';
import type { VolumeManager } from '../volumes/volume-manager-contract.ts';

export interface PodCleanupDeps {
  readonly platform: BasePlatform;
  readonly runtime: ContainerRuntime;
  readonly allocations: Pick<AllocationManager, 'forget' | 'isDeferred'>;
  readonly podContainers: PodContainerManager;
  readonly volumes: VolumeManager;
  readonly directories: PodDirectories;
  readonly podManager: PodManager;
  readonly podWorkers: PodWorkers;
  readonly probeManager: ProbeManager;
  readonly statusManager: StatusManager;
  readonly mirrorClient: MirrorClient;
  readonly activePods: () => readonly Pod[];
  readonly podStarts: Pick<PodStarts, 'forget'>;
  readonly workCounts: Pick<PodWorkCounts, 'note'>;
}

export function createPodCleanups(deps: PodCleanupDeps): () => Promise<void> {
  const { podManager, podWorkers } = deps;
  const log = deps.platform.log.child('housekeeping');

  function cleanProbes(workers: ReadonlyMap<string, PodWorkerSync>): Set<string> {
    const possiblyRunning = new Set<string>();
    for (const [uid, worker] of workers) if (worker.state !== 'terminated') possiblyRunning.add(uid);
    deps.probeManager.cleanupPods(possiblyRunning);
    return possiblyRunning;
  }

  function cleanStatuses(): void {
    const { pods, mirrorPods } = podManager.getPodsAndMirrorPods();
    deps.statusManager.removeOrphanedStatuses(new Set([...pods, ...mirrorPods].map(podUid)));
  }

  async function cleanMirrorPods(): Promise<void> {
    for (const fullName of podManager.getPodsAndMirrorPods().orphanedMirrorPodFullNames) {
      if (podWorkers.isPodForMirrorPodTerminatingByFullName(fullName)) continue;
      try {
        await deps.mirrorClient.deleteMirrorPod(fullName);
      } catch (error) {
        log.warn('Failed deleting orphaned mirror pod', { pod: fullName, err: error });
      }
    }
  }

  /** Desired pods without a worker: their uid was used before, and the earlier pod has ended. */
  function restartReusedUids(workers: ReadonlyMap<string, PodWorkerSync>): ReadonlyMap<string, Pod> {
    const restarted = new Map<string, Pod>();
    for (const wanted of deps.activePods()) {
      if (workers.has(podUid(wanted))) continue;
      const { pod, mirrorPod, wasMirror } = podManager.getPodAndMirrorPod(wanted);
      if (pod === undefined || wasMirror) continue;
      log.info(
        'Pod will be restarted because it is in the desired set and not known to the pod workers (likely due to UID reuse)',
        { podUID: podUid(pod) },
      );
      podWorkers.updatePod({ pod, mirrorPod, updateType: 'create' });
      restarted.set(podUid(pod), pod);
    }
    return restarted;
  }

  function endOrphans(running: readonly RuntimePod[], isKnown: (uid: string) => boolean): number {
    let ended = 0;
    for (const runningPod of running) {
      if (isKnown(runningPod.uid)) continue;
      log.info('Clean up containers for orphaned pod we had not seen before', { podUID: runningPod.uid });
      podWorkers.updatePod({ runningPod, updateType: 'kill', killPodOptions: { gracePeriodSecondsOverride: 1 } });
      ended++;
    }
    return ended;
  }

  /** Removes directories of pods that are gone, once nothing is mounted and nothing runs there. */
  async function cleanDirectories(
    running: readonly RuntimePod[],
    workers: ReadonlyMap<string, PodWorkerSync>,
  ): Promise<void> {
    const inUse = new Set([...podManager.getPods().map(podUid), ...running.map(({ uid }) => uid), ...workers.keys()]);
    for (const uid of await deps.directories.listPodUids()) {
      if (inUse.has(uid) || podManager.getPodByUid(uid) !== undefined || deps.volumes.podHasVolumes(uid)) continue;
      try {
        await deps.directories.removePodDir(uid);
        deps.runtime.forgetPod(uid);
        deps.podStarts.forget(uid);
        await deps.allocations.forget(uid);
      } catch (error) {
        log.error('Orphaned pod found, but error occurred when trying to remove the pod dir', {
          podUID: uid,
          err: error,
        });
      }
    }
  }

  async function cleanCgroups(possiblyRunning: ReadonlySet<string>): Promise<void> {
    for (const uid of await deps.podContainers.podUids()) {
      if (possiblyRunning.has(uid) || podWorkers.couldHaveRunningContainers(uid) || deps.volumes.podHasVolumes(uid))
        continue;
      log.debug('Orphaned pod found, removing pod cgroups', { podUID: uid });
      await deps.podContainers.destroyPodCgroup(uid);
    }
  }

  /** Retries deferred resizes, as resources may have become free. */
  function retryResizes(): void {
    for (const pod of podManager.getPods())
      if (deps.allocations.isDeferred(podUid(pod))) podWorkers.updatePod({ pod, updateType: 'sync' });
  }

  let firstTime = true;

  return async () => {
    // Workers are listed before and after the runtime's pods: a pod that ended in between is no orphan.
    const before = podWorkers.syncKnownPods(podManager.getPods());
    const running = await deps.runtime.getPods(false);
    const workers = podWorkers.syncKnownPods(podManager.getPods());
    const possiblyRunning = cleanProbes(workers);
    cleanStatuses();
    // Before the first comparison no terminal phase can be reported for pods without a worker.
    if (firstTime) deps.statusManager.syncAll();
    firstTime = false;
    const restarted = restartReusedUids(workers);
    const unseen = endOrphans(running, (uid) => before.has(uid) || workers.has(uid) || restarted.has(uid));
    deps.workCounts.note({ workers: workers.values(), unseen, restarted: [...restarted.values()] });
    await cleanMirrorPods();
    await cleanDirectories(running, workers);
    await cleanCgroups(possiblyRunning);
    retryResizes();
  };
}
