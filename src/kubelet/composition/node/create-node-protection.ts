/** Parts that end pods to protect the node: eviction, node shutdown and preemption. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import { quantityValue } from '../../../api/quantity.ts';
import { createEvictionManager, type EvictionManager } from '../../eviction/eviction-manager.ts';
import { createNodeShutdownManager, type NodeShutdownManager } from '../../node-shutdown/node-shutdown-manager.ts';
import { killPodNow, type KillPodFunc } from '../../pod-workers/kill-pod-now.ts';
import { createPreemption } from '../../preemption/preemption.ts';
import { podUid } from '../../types/pod-update.ts';
import type { KubeletNode, KubeletNodeDeps } from './types.ts';

export type NodeProtection = Omit<KubeletNode, 'nodeStatus'>;

export function createNodeProtection(needs: KubeletNodeDeps): NodeProtection {
  const { platform, recorder } = needs.context.deps;
  const { podWorkers, admitting } = needs.pods;
  const killPod = killPodNow(podWorkers);
  /** Running pods that nothing ends yet. */
  const activePods = (): Pod[] =>
    needs.status.getActivePods().filter((pod) => !podWorkers.isPodTerminationRequested(podUid(pod)));
  return {
    evictionManager: createEviction(needs, { activePods, killPod }),
    shutdownManager: createShutdown(needs, { activePods, killPod }),
    preemption: createPreemption({
      platform,
      recorder,
      // Pods under admission hold no resources yet.
      activePods: () => activePods().filter((pod) => !admitting.has(podUid(pod))),
      killPod,
    }),
  };
}

interface PodKilling {
  readonly activePods: () => readonly Pod[];
  readonly killPod: KillPodFunc;
}

function createEviction(
  { context, pods, runtime }: KubeletNodeDeps,
  podKilling: PodKilling,
): EvictionManager | undefined {
  const { deps, config, late, nodeRef } = context;
  const { platform, recorder, resources: statistics } = deps;
  if (statistics === undefined) return undefined;
  const reserved = [config.systemReserved, config.kubeReserved].map(({ memory }) => quantityValue(memory ?? '0'));
  const reservedBytes = reserved.reduce((sum, bytes) => sum + bytes, 0);
  return createEvictionManager(
    {
      platform,
      recorder,
      nodeRef,
      nodeStats: statistics.nodeStats,
      summary: statistics.summary,
      async allocatableMemoryBytes() {
        return (await platform.host.info()).memoryBytes - reservedBytes;
      },
      ...podKilling,
      removeUnusedContainers: () =>
        runtime.containerRuntime.garbageCollect(
          { minAgeMs: 0, maxPerPodContainer: 0, maxContainers: 0 },
          { allSourcesReady: pods.sourcesReady.allReady(), evictNonDeleted: true },
        ),
      removeUnusedImages: async () => {
        await statistics.removeUnusedImages();
      },
      onPressureChange: () => late.nodeStatus.get().trigger(),
    },
    config,
  );
}

function createShutdown({ context }: KubeletNodeDeps, podKilling: PodKilling): NodeShutdownManager | undefined {
  const { deps, late, nodeRef } = context;
  const { platform, recorder, shutdown } = deps;
  if (shutdown === undefined) return undefined;
  return createNodeShutdownManager(
    {
      platform,
      recorder,
      nodeRef,
      source: shutdown.source,
      onChange: () => late.nodeStatus.get().trigger(),
      ...podKilling,
    },
    shutdown.groups,
  );
}
