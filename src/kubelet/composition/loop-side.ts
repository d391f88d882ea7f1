/** Fourth stage of the kubelet: the sync loop, the PLEG and the runtime monitor, and what they trigger. */
import { containersToDelete, deleteContainers } from '../sync-loop/container-deletor.ts';
import { createFileWorkCheck, type FileWorkCheck } from '../watchdog/file-work-check.ts';
import { createSyncLoop, type SyncLoop } from '../sync-loop/sync-loop.ts';
import { createRuntimeMonitor, type RuntimeMonitor } from '../node-status/runtime-monitor.ts';
import { createGenericPleg, type PodLifecycleEventGenerator } from '../pleg/generic-pleg.ts';
import type { ProbeUpdate } from '../prober/results.ts';
import { podName, podNamespace } from '../types/pod-update.ts';
import type { Foundations } from './foundations.ts';
import type { NodeSide } from './node-side.ts';
import type { PodSide } from './pod-side.ts';

/** The parts that run by themselves. */
export interface LoopSide {
  readonly syncLoop: SyncLoop;
  readonly pleg: PodLifecycleEventGenerator;
  readonly runtimeMonitor: RuntimeMonitor;
  readonly fileWork: FileWorkCheck;
}

/** The stages before this one. */
export interface LoopSideDeps {
  readonly foundations: Foundations;
  readonly nodeSide: NodeSide;
  readonly podSide: PodSide;
}

/** Makes the fourth stage; binds the sync loop, the PLEG and the runtime monitor. */
export function createLoopSide(stages: LoopSideDeps): LoopSide {
  const { late, results, runtimeState } = stages.foundations;
  const syncLoop = late.syncLoop.bind(createLoop(stages));
  results.onUpdate((update) => syncLoop.probeCh(update));
  const pleg = late.pleg.bind(createPleg(stages.foundations, syncLoop));
  runtimeState.addHealthCheck('PLEG', pleg.healthProblem);
  const runtimeMonitor = late.runtimeMonitor.bind(createMonitor(stages, syncLoop));
  const { deps, config } = stages.foundations;
  return { syncLoop, pleg, runtimeMonitor, fileWork: createFileWorkCheck(deps.platform, config.rootDirectory) };
}

function createLoop(stages: LoopSideDeps): SyncLoop {
  const { deps, config, log, core, runtime, runtimeState, sourcesReady, podManager, podCache } = stages.foundations;
  const { handler, workQueue } = stages.podSide;
  return createSyncLoop({
    platform: deps.platform,
    handler,
    runtimeErrors: runtimeState.runtimeErrors,
    allSourcesReady: sourcesReady.allReady,
    addSource: ({ source }) => sourcesReady.addSource(source),
    podByUid: podManager.getPodByUid,
    podsToSync: () => workQueue.getWork().flatMap((uid) => podManager.getPodByUid(uid) ?? []),
    onProbeUpdate: (update) => takeProbeUpdate(update, stages),
    cleanUpContainersInPod: (uid, containerId) => {
      const status = podCache.peek(uid);
      if (status === undefined) return;
      const removeAll = core.podState.shouldPodContentBeRemoved(uid);
      const keep = removeAll ? 0 : config.maxPerPodContainerCount;
      deleteContainers({ runtime, log }, containersToDelete(status, removeAll ? '' : containerId, keep));
    },
  });
}

function takeProbeUpdate(update: ProbeUpdate, { foundations, nodeSide, podSide }: LoopSideDeps): void {
  const { type, podUid: uid, containerId, result } = update;
  const { statusManager } = nodeSide;
  if (type === 'readiness') statusManager.setContainerReadiness(uid, containerId, result === 'success');
  if (type === 'startup') statusManager.setContainerStartup(uid, containerId, result === 'success');
  if (type === 'liveness' && result !== 'failure') return;
  const pod = foundations.podManager.getPodByUid(uid);
  if (pod === undefined) return;
  const name = `${podNamespace(pod)}/${podName(pod)}`;
  foundations.log.debug('SyncLoop (probe)', { probe: type, status: result, pod: name });
  podSide.handler.handlePodSyncs([pod]);
}

function createPleg(foundations: Foundations, syncLoop: SyncLoop): PodLifecycleEventGenerator {
  const { deps, config, runtime, podCache, podManager } = foundations;
  return createGenericPleg(
    {
      platform: deps.platform,
      runtime,
      podCache,
      plegCh: (event) => syncLoop.plegCh(event),
      identityOf: (uid) => {
        const pod = podManager.getPodByUid(uid);
        return pod === undefined ? undefined : { uid, name: podName(pod), namespace: podNamespace(pod) };
      },
    },
    { relistPeriodMs: config.plegRelistPeriodMs },
  );
}

/** Updates the node status when the runtime's state changes, and syncs pods that waited for the network. */
function createMonitor({ foundations, nodeSide, podSide }: LoopSideDeps, syncLoop: SyncLoop): RuntimeMonitor {
  const { deps, log, runtime, runtimeState, podManager } = foundations;
  return createRuntimeMonitor({
    clock: deps.platform.clock,
    log,
    runtime,
    state: runtimeState,
    onChange(ready) {
      nodeSide.nodeStatus.trigger();
      if (!ready) return;
      syncLoop.runtimeRecovered();
      podSide.handler.handlePodSyncs(podManager.getPods());
    },
  });
}
