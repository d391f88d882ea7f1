/** Creates the sync's subject: the main loop, its handlers, and what syncs a pod. */
import { createMirrorClient } from '../../pod/mirror-client.ts';
import { createContainerDeletor } from '../../sync-loop/container-deletor.ts';
import { createProbeSyncHandler } from '../../sync-loop/probe-sync.ts';
import { createSyncLoop, type SyncHandler, type SyncLoop } from '../../sync-loop/sync-loop.ts';
import { createSyncHandler } from './create-sync-handler.ts';
import { createPodSyncer } from './create-pod-syncer.ts';
import type { KubeletSync, KubeletSyncDeps } from './types.ts';

export function createKubeletSync(needs: KubeletSyncDeps): KubeletSync {
  const { context, node } = needs;
  const mirrorClient = createMirrorClient({
    client: context.deps.client,
    log: context.log,
    node: () => node.nodeStatus.node(),
    nodeName: context.config.nodeName,
  });
  context.late.podSyncer.bind(createPodSyncer(needs, mirrorClient));
  const syncHandler = createSyncHandler(needs, mirrorClient);
  const syncLoop = createLoop(needs, syncHandler);
  syncWhenRuntimeChanges(needs, syncHandler, syncLoop);
  return { syncLoop, syncHandler };
}

function createLoop({ context, pods, runtime, status }: KubeletSyncDeps, handler: SyncHandler): SyncLoop {
  const { deps, config, log } = context;
  const { channels, podManager, podCache, podWorkers, sourcesReady, workQueue, activity } = pods;
  const getPodByUid = podManager.getPodByUid;
  return createSyncLoop({
    platform: deps.platform,
    channels,
    activity,
    handler,
    runtimeErrors: runtime.runtimeState.runtimeErrors,
    allSourcesReady: sourcesReady.allReady,
    addSource: ({ source }) => sourcesReady.addSource(source),
    getPodByUid,
    getPodsToSync: () => workQueue.getWork().flatMap((uid) => getPodByUid(uid) ?? []),
    handleProbeSync: createProbeSyncHandler({ log, statusManager: status.statusManager, podManager, handler }),
    cleanUpContainersInPod: createContainerDeletor(
      { log, runtime: runtime.containerRuntime, podCache, podWorkers },
      config.maxPerPodContainerCount,
    ),
  });
}

/** The node status shows the runtime's state; once it is up, pods that waited for it are synced. */
function syncWhenRuntimeChanges(
  { pods, runtime, node }: KubeletSyncDeps,
  syncHandler: SyncHandler,
  syncLoop: SyncLoop,
): void {
  runtime.runtimeMonitor.onChange((ready) => {
    node.nodeStatus.trigger();
    if (!ready) return;
    syncLoop.runtimeRecovered();
    syncHandler.handlePodSyncs(pods.podManager.getPods());
  });
}
