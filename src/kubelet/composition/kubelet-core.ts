/** The part of the kubelet that volumes and the container runtime depend on. */
import type { KubeletCore } from '../kubelet-contract.ts';
import type { KubeletContext } from './context.ts';
import type { KubeletPods } from './pods/types.ts';
import type { KubeletResources } from './resources/types.ts';

export function createKubeletCore(
  context: KubeletContext,
  pods: KubeletPods,
  { containerManager, allocationManager, pluginManager, connectGrpc }: KubeletResources,
): KubeletCore {
  const { podManager, podWorkers, sourcesReady } = pods;
  return {
    probeResults: pods.probeResults,
    pods: podManager,
    podState: podWorkers,
    directories: pods.podDirectories,
    podStarts: pods.podStarts,
    allocations: allocationManager,
    nodeIps: context.nodeIps,
    podsWithRuntime: () => podWorkers.podsWithRuntime(podManager.getPods()),
    plugins: pluginManager,
    connectGrpc,
    ownNode: context.ownNode,
    containerDevices: (pod, container) => containerManager.getResources(pod, container),
    withoutCpuQuota: (pod) => containerManager.withoutCpuQuota(pod),
    nodeStatusChanged: () => context.late.nodeStatus.get().trigger(),
    sourcesReady: () => sourcesReady.allReady(),
  };
}
