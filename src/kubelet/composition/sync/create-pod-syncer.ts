/** The syncer of the pod workers: the sync of a running, a terminating and a terminated pod. */
import type { MirrorClient } from '../../pod/mirror-client.ts';
import { createMirrorReconciler } from '../../pod/mirror-reconciler.ts';
import type { PodSyncer } from '../../pod-workers/pod-syncer.ts';
import { createPullSecrets } from '../../sync-pod/pull-secrets.ts';
import { createSyncPod } from '../../sync-pod/sync-pod.ts';
import type { SyncPodDeps } from '../../sync-pod/sync-pod-deps.ts';
import { createTerminationSyncs } from '../../sync-pod/sync-terminating-pod.ts';
import { withSpans } from '../../sync-pod/traced-syncs.ts';
import type { KubeletSyncDeps } from './types.ts';

export function createPodSyncer(needs: KubeletSyncDeps, mirrorClient: MirrorClient): PodSyncer {
  const deps = syncPodDeps(needs, mirrorClient);
  const syncer = { syncPod: createSyncPod(deps), ...createTerminationSyncs(deps) };
  return withSpans(syncer, needs.context.deps.tracer);
}

function syncPodDeps(
  { context, pods, resources, volumes, runtime, status, node }: KubeletSyncDeps,
  mirrorClient: MirrorClient,
): SyncPodDeps {
  const { config, log } = context;
  const { platform, client, recorder } = context.deps;
  return {
    platform,
    recorder,
    runtime: runtime.containerRuntime,
    runtimeState: runtime.runtimeState,
    reasonCache: runtime.reasonCache,
    podCache: pods.podCache,
    podStarts: pods.podStarts,
    startSteps: pods.startSteps,
    directories: pods.podDirectories,
    volumes: volumes.volumeManager,
    podContainers: resources.podContainerManager,
    allocations: resources.allocationManager,
    dynamicResources: resources.containerManager,
    statusManager: status.statusManager,
    probeManager: status.probeManager,
    generateStatus: status.generateStatus,
    pullSecrets: createPullSecrets({ client, clock: platform.clock, recorder, log }),
    reconcileMirrorPod: config.hasApiServer
      ? createMirrorReconciler({ mirrorClient, node: () => node.nodeStatus.node(), log })
      : async () => undefined,
    isPodTerminationRequested: (uid) => pods.podWorkers.isPodTerminationRequested(uid),
    holdEvents: (uid) => runtime.pleg.holdEvents(uid),
  };
}
