/** Creates the status's subject: probes, and what is reported of pods. */
import { createPodWorkCounts } from '../../metrics/pod-counts.ts';
import { filterOutInactivePods } from '../../pod-workers/active-pods.ts';
import { createProbeManager, type ProbeManager } from '../../prober/prober-manager.ts';
import { createProber } from '../../prober/prober.ts';
import { createStatusGenerator } from '../../status/status-generator.ts';
import { createStatusManager, type StatusManager } from '../../status/status-manager.ts';
import type { KubeletStatus, KubeletStatusDeps } from './types.ts';

export function createKubeletStatus(needs: KubeletStatusDeps): KubeletStatus {
  const { context, pods, resources, runtime } = needs;
  const { platform, client, recorder } = context.deps;
  const { podManager, podWorkers } = pods;
  const statusManager = createStatusManager({
    platform,
    client,
    podManager,
    startSteps: pods.startSteps,
    couldHaveRunningContainers: (uid) => podWorkers.couldHaveRunningContainers(uid),
  });
  const probeManager = createProbes(needs, statusManager);
  const { containerManager, allocationManager } = resources;
  return {
    statusManager,
    probeManager,
    generateStatus: createStatusGenerator({
      clock: platform.clock,
      recorder,
      statusManager,
      probeManager,
      reasonCache: runtime.reasonCache,
      nodeIps: context.nodeIps(),
      runtimeName: () => runtime.runtimeName,
      allocations: allocationManager,
      resourceHealth: context.config.resourceHealthStatus ? containerManager.resourceHealth : undefined,
    }),
    getActivePods: () => filterOutInactivePods(podManager.getPods(), { podWorkers, statusManager }),
    podWorkCounts: createPodWorkCounts(platform.metrics),
  };
}

function createProbes(
  { context, pods, resources, runtime }: KubeletStatusDeps,
  statusManager: StatusManager,
): ProbeManager {
  const { platform, recorder } = context.deps;
  return createProbeManager({
    platform,
    prober: createProber({
      clock: platform.clock,
      net: platform.net,
      connectGrpc: resources.connectGrpc,
      runtime: runtime.containerRuntime,
      recorder,
    }),
    recorder,
    results: pods.probeResults,
    startSteps: pods.startSteps,
    podStatus: (uid) => statusManager.getPodStatus(uid),
    podByUid: (uid) => pods.podManager.getPodByUid(uid),
  });
}
