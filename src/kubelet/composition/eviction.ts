/** Creates the managers that end pods for the sake of the node: eviction, node shutdown and preemption. */
import { quantityValue } from '../../api/quantity.ts';
import { createEvictionManager, type EvictionManager } from '../eviction/eviction-manager.ts';
import { createPreemption, type Preemption } from '../preemption/preemption.ts';
import { createNodeShutdownManager, type NodeShutdownManager } from '../node-shutdown/node-shutdown-manager.ts';
import { killPodNow } from '../pod-workers/kill-pod-now.ts';
import type { PodWorkers } from '../pod-workers/pod-syncer.ts';
import { activePods } from '../sync-loop/sync-handlers.ts';
import { podUid } from '../types/pod-update.ts';
import type { Foundations } from './foundations.ts';
import type { NodeSide } from './node-side.ts';

/** Creates the eviction manager; undefined without statistics. */
export function createEviction(
  foundations: Foundations,
  nodeSide: NodeSide,
  podWorkers: PodWorkers,
): EvictionManager | undefined {
  const { deps, config, runtime, sourcesReady } = foundations;
  const { platform, recorder, resources } = deps;
  if (resources === undefined) return undefined;
  const { nodeName } = config;
  const { nodeStatus } = nodeSide;
  const reserved = [config.systemReserved, config.kubeReserved].map(({ memory }) => quantityValue(memory ?? '0'));
  const reservedBytes = reserved.reduce((sum, bytes) => sum + bytes, 0);
  return createEvictionManager(
    {
      platform,
      recorder,
      nodeRef: { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeName },
      nodeStats: resources.nodeStats,
      summary: resources.summary,
      async allocatableMemoryBytes() {
        return (await platform.host.info()).memoryBytes - reservedBytes;
      },
      ...podsToEnd(foundations, nodeSide, podWorkers),
      removeUnusedContainers: () =>
        runtime.garbageCollect(
          { minAgeMs: 0, maxPerPodContainer: 0, maxContainers: 0 },
          { allSourcesReady: sourcesReady.allReady(), evictNonDeleted: true },
        ),
      removeUnusedImages: async () => {
        await resources.removeUnusedImages();
      },
      onPressureChange: nodeStatus.trigger,
    },
    config,
  );
}

/** Creates the shutdown manager; undefined without a source of shutdown notices. */
export function createShutdown(
  foundations: Foundations,
  nodeSide: NodeSide,
  podWorkers: PodWorkers,
): NodeShutdownManager | undefined {
  const { deps, config } = foundations;
  const { platform, recorder, shutdown } = deps;
  if (shutdown === undefined) return undefined;
  return createNodeShutdownManager(
    {
      platform,
      recorder,
      nodeRef: { apiVersion: 'v1', kind: 'Node', name: config.nodeName, uid: config.nodeName },
      source: shutdown.source,
      onChange: nodeSide.nodeStatus.trigger,
      ...podsToEnd(foundations, nodeSide, podWorkers),
    },
    shutdown.groups,
  );
}

/** Creates preemption for critical pods. Pods under admission hold no resources yet and are not considered. */
export function createPreemptor(foundations: Foundations, nodeSide: NodeSide, podWorkers: PodWorkers): Preemption {
  const { deps, admitting } = foundations;
  const { activePods: active, killPod } = podsToEnd(foundations, nodeSide, podWorkers);
  return createPreemption({
    platform: deps.platform,
    recorder: deps.recorder,
    activePods: () => active().filter((pod) => !admitting.has(podUid(pod))),
    killPod,
  });
}

type EndsPods = Pick<Parameters<typeof createNodeShutdownManager>[0], 'activePods' | 'killPod'>;

/** The pods that may be ended, and how to end one: it stays in the API as Failed. */
function podsToEnd({ podManager }: Foundations, { statusManager }: NodeSide, podWorkers: PodWorkers): EndsPods {
  return {
    activePods: () =>
      activePods(podManager.getPods(), { podWorkers, statusManager }).filter(
        (pod) => !podWorkers.isPodTerminationRequested(podUid(pod)),
      ),
    killPod: killPodNow(podWorkers),
  };
}
