/** The handlers of the sync loop: pod changes, with admission and housekeeping. */
import { podQosClass } from '../../../api/pod-qos.ts';
import { createPodAdmission } from '../../admission/pod-admission.ts';
import type { MirrorClient } from '../../pod/mirror-client.ts';
import { createPodCleanups } from '../../sync-loop/pod-cleanups.ts';
import { createSyncHandlers } from '../../sync-loop/sync-handlers.ts';
import type { SyncHandler } from '../../sync-loop/sync-loop.ts';
import { podUid } from '../../types/pod-update.ts';
import type { KubeletSyncDeps } from './types.ts';

export function createSyncHandler(needs: KubeletSyncDeps, mirrorClient: MirrorClient): SyncHandler {
  const { context, pods, resources, status, node } = needs;
  const { platform, recorder } = context.deps;
  const { podManager, podWorkers, sourcesReady, podStarts, startSteps, admitting } = pods;
  return createSyncHandlers({
    platform,
    recorder,
    podManager,
    podWorkers,
    statusManager: status.statusManager,
    allSourcesReady: sourcesReady.allReady,
    qosClassOf: podQosClass,
    podSeen(pod) {
      podStarts.seen(pod);
      startSteps.seen(pod);
    },
    admitting,
    canAdmitPod: createPodAdmission({ ...resources, ...node, node: () => node.nodeStatus.node() }, context.config),
    handlePodCleanups: createCleanups(needs, mirrorClient),
  });
}

function createCleanups(
  { context, pods, resources, volumes, runtime, status }: KubeletSyncDeps,
  mirrorClient: MirrorClient,
): SyncHandler['handlePodCleanups'] {
  return createPodCleanups({
    platform: context.deps.platform,
    runtime: runtime.containerRuntime,
    volumes: volumes.volumeManager,
    directories: pods.podDirectories,
    podStarts: pods.podStarts,
    workCounts: status.podWorkCounts,
    podManager: pods.podManager,
    podWorkers: pods.podWorkers,
    probeManager: status.probeManager,
    statusManager: status.statusManager,
    mirrorClient,
    allocations: resources.allocationManager,
    podContainers: resources.podContainerManager,
    activePods: () => status.getActivePods().filter((pod) => !pods.admitting.has(podUid(pod))),
  });
}
