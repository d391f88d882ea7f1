/** Creates the resources' subject: devices, CPUs, memory and cgroups of pods, and the plugins that provide them. */
import { isPodPhaseTerminal } from '../../../api/pod-phase.ts';
import { createGrpcConnector } from '../../../grpc/grpc-connector.ts';
import { createSocketServer } from '../../../grpc/socket-server.ts';
import { createAllocationManager, type AllocationManager } from '../../allocation/allocation-manager.ts';
import { createAllocationState, type AllocationState } from '../../allocation/allocation-state.ts';
import { resizeInfeasibleByPolicy } from '../../allocation/resize-infeasible.ts';
import { createContainerManager } from '../../container-manager/container-manager.ts';
import { createPluginManager } from '../../plugin-manager/plugin-manager.ts';
import { podUid } from '../../types/pod-update.ts';
import type { KubeletResources, KubeletResourcesDeps } from './types.ts';

export function createKubeletResources({ context, pods }: KubeletResourcesDeps): KubeletResources {
  const { deps, config, late, log } = context;
  const { platform } = deps;
  const connectGrpc = deps.connectGrpc ?? createGrpcConnector(platform.clock);
  const pluginManager = createPluginManager(
    { platform, connect: connectGrpc },
    `${config.rootDirectory}/plugins_registry`,
  );
  const allocationState = createAllocationState(
    { files: platform.files, log },
    `${config.rootDirectory}/resized_pods_state`,
  );
  const containerManager = createContainerManager(
    {
      ...pods,
      platform,
      client: deps.client,
      plugins: pluginManager,
      connectGrpc,
      serveSocket: deps.serveSocket ?? createSocketServer(platform.listenRpc, platform.clock),
      onCapacityChange: () => late.nodeStatus.get().trigger(),
    },
    config,
  );
  return {
    containerManager,
    allocationManager: createAllocations({ context, pods }, allocationState),
    podContainerManager: deps.podContainers,
    pluginManager,
    connectGrpc,
    async start(updateCpuset, signal) {
      await allocationState.load();
      await deps.podContainers.start(signal);
      await containerManager.start(updateCpuset, signal);
    },
  };
}

function createAllocations(
  { context, pods: { podManager, podWorkers } }: KubeletResourcesDeps,
  state: AllocationState,
): AllocationManager {
  const { deps, config, ownNode } = context;
  return createAllocationManager({
    state,
    recorder: deps.recorder,
    node: ownNode,
    activePods: () =>
      podManager
        .getPods()
        .filter((pod) => !isPodPhaseTerminal(pod.status?.phase) && !podWorkers.isPodKnownTerminated(podUid(pod))),
    ...resizeInfeasibleByPolicy(config),
  });
}
