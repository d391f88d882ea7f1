/** The cgroups of a node's pods, with the resources reserved for the system. */
import { quantityMilliValue, quantityValue } from '../../api/quantity.ts';
import { createPodContainerManager } from '../../kubelet/cgroups/create-pod-container-manager.ts';
import type { KubeletConfiguration } from '../../kubelet/kubelet-configuration.ts';
import type { KubeletCore } from '../../kubelet/kubelet-contract.ts';
import { measureCgroups } from '../../kubelet/metrics/cgroup-operations.ts';
import type { HostInfo } from '../../platform/host.ts';
import type { NodeParts } from './node-parts.ts';

/** Creates and finds the cgroups of pods. */
export type NodeCgroups = ReturnType<typeof createPodContainerManager>;

export function podContainerManager(
  { platform, recorder, host, config }: NodeParts,
  core: () => KubeletCore | undefined,
): NodeCgroups {
  const { cgroups } = config;
  return createPodContainerManager(
    {
      cgroups: measureCgroups(platform.cgroups, platform),
      platform,
      recorder,
      activePods: () => core()?.pods.getPods() ?? [],
      withoutCpuQuota: (pod) => core()?.withoutCpuQuota(pod) ?? false,
      nodeAllocatable: async () => nodeAllocatable(host, config),
      nodeRef: { apiVersion: 'v1', kind: 'Node', name: config.nodeName, uid: config.nodeName },
    },
    {
      cgroupRoot: cgroups.root,
      cgroupsPerQos: cgroups.perQos,
      enforceNodeAllocatable: cgroups.enforceNodeAllocatable,
      reserved: {
        system: { cgroup: cgroups.systemReservedCgroup, amounts: config.systemReserved },
        kube: { cgroup: cgroups.kubeReservedCgroup, amounts: config.kubeReserved },
      },
      qosReservedMemoryPercent: cgroups.qosReservedMemoryPercent,
      enforceCpuLimits: cgroups.cpuCfsQuota,
      cpuQuotaPeriodUs: cgroups.cpuCfsQuotaPeriodUs,
      podPidsLimit: cgroups.podPidsLimit > 0 ? cgroups.podPidsLimit : undefined,
      hugePageSizesBytes: host.hugePages.map((h) => h.pageSizeBytes),
    },
  );
}

/**
 * The resources of all pods together: the machine's without reservations and without what hard eviction thresholds
 * keep free.
 */
function nodeAllocatable(
  host: HostInfo,
  { systemReserved, kubeReserved }: KubeletConfiguration,
): { milliCpu: number; memoryBytes: number } {
  const reserved = (name: string, read: (text: string) => number): number =>
    [systemReserved, kubeReserved].reduce((sum, amounts) => sum + read(amounts[name] ?? '0'), 0);
  return {
    milliCpu: Math.max(0, host.cpuCount * 1000 - reserved('cpu', quantityMilliValue)),
    memoryBytes: Math.max(0, host.memoryBytes - reserved('memory', quantityValue)),
  };
}
