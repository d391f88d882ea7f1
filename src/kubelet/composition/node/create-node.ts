/** Creates the node's subject: its status, and what ends pods for its sake. */
import type { NodePressure } from '../../node-status/node-facts.ts';
import { createNodeStatusManager, type NodeStatusManager } from '../../node-status/node-status-manager.ts';
import { createNodeProtection, type NodeProtection } from './create-node-protection.ts';
import type { KubeletNode, KubeletNodeDeps } from './types.ts';

const NO_PRESSURE: NodePressure = { memory: false, disk: false, pid: false };

export function createKubeletNode(needs: KubeletNodeDeps): KubeletNode {
  const protection = createNodeProtection(needs);
  return { ...protection, nodeStatus: needs.context.late.nodeStatus.bind(createNodeStatus(needs, protection)) };
}

function createNodeStatus(
  { context, resources, volumes, runtime }: KubeletNodeDeps,
  { evictionManager, shutdownManager }: NodeProtection,
): NodeStatusManager {
  const { deps, config, log } = context;
  const { containerRuntime, runtimeState, runtimeMonitor } = runtime;
  return createNodeStatusManager(
    {
      platform: deps.platform,
      client: deps.client,
      recorder: deps.recorder,
      runtime: containerRuntime,
      nodeIps: context.nodeIps,
      volumesInUse: () => volumes.volumeManager.volumesInUse(),
      runtimeErrors: () => {
        const shutdown = shutdownManager?.problem();
        return [...runtimeState.runtimeErrors(), ...(shutdown === undefined ? [] : [shutdown])];
      },
      networkErrors: runtimeState.networkErrors,
      devices: () => resources.containerManager.deviceCapacity(),
      pressure: () => evictionManager?.pressure() ?? NO_PRESSURE,
      onPodCidr: (cidr) => {
        containerRuntime
          .updatePodCidr(cidr)
          .then(() => runtimeMonitor.check())
          .catch((error: unknown) => log.error('Failed to update pod CIDR', { cidr, err: error }));
      },
    },
    config,
  );
}
