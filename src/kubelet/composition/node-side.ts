/** Second stage of the kubelet: reports pod statuses and node status to the API, and runs the probes. */
import { createNodeStatusManager, type NodeStatusManager } from '../node-status/node-status-manager.ts';
import { createMirrorClient, type MirrorClient } from '../pod/mirror-client.ts';
import { createProbeManager, type ProbeManager } from '../prober/prober-manager.ts';
import { createProber } from '../prober/prober.ts';
import { createStatusManager, type StatusManager } from '../status/status-manager.ts';
import type { Foundations } from './foundations.ts';

/** The parts that report. */
export interface NodeSide {
  readonly statusManager: StatusManager;
  readonly probeManager: ProbeManager;
  readonly nodeStatus: NodeStatusManager;
  readonly mirrorClient: MirrorClient;
}

/** Makes the second stage. */
export function createNodeSide(foundations: Foundations): NodeSide {
  const { deps, config, log, core, podManager } = foundations;
  const { platform, client } = deps;
  const statusManager = createStatusManager({
    platform,
    client,
    podManager,
    couldHaveRunningContainers: core.podState.couldHaveRunningContainers,
  });
  const probeManager = createPodProbes(foundations, statusManager);
  const nodeStatus = foundations.late.nodeStatus.bind(createNodeStatus(foundations));
  const mirrorClient = createMirrorClient({ client, log, node: nodeStatus.node, nodeName: config.nodeName });
  return { statusManager, probeManager, nodeStatus, mirrorClient };
}

function createPodProbes(foundations: Foundations, statusManager: StatusManager): ProbeManager {
  const { runtime, results, podManager } = foundations;
  const { platform, recorder } = foundations.deps;
  return createProbeManager({
    platform,
    prober: createProber({
      clock: platform.clock,
      net: platform.net,
      connectGrpc: foundations.core.connectGrpc,
      runtime,
      recorder,
    }),
    recorder,
    results,
    podStatus: statusManager.getPodStatus,
    podByUid: podManager.getPodByUid,
  });
}

function createNodeStatus(foundations: Foundations): NodeStatusManager {
  const { config, log, late, core, volumes, runtime, runtimeState } = foundations;
  const { platform, client, recorder } = foundations.deps;
  return createNodeStatusManager(
    {
      platform,
      client,
      recorder,
      runtime,
      nodeIps: core.nodeIps,
      volumesInUse: () => volumes.volumesInUse(),
      runtimeErrors: () => [...runtimeState.runtimeErrors(), ...[late.shutdown.get()?.problem() ?? []].flat()],
      networkErrors: runtimeState.networkErrors,
      devices: foundations.managers.capacity,
      pressure: () => late.eviction.get()?.pressure() ?? { memory: false, disk: false, pid: false },
      onPodCidr: (cidr) => {
        runtime
          .updatePodCidr(cidr)
          .then(() => late.runtimeMonitor.get().check())
          .catch((error: unknown) => log.error('Failed to update pod CIDR', { cidr, err: error }));
      },
    },
    config,
  );
}
