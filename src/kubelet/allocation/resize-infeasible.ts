/** Resizes that the kubelet's configuration rules out. Upstream: IsInPlacePodVerticalScalingAllowed and canResizePod. */
import type { Pod } from '../../api/gen/core-v1.ts';
import { podQosClass } from '../../api/pod-qos.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import type { AllocationDeps } from './allocation-manager.ts';

/** Guaranteed pods keep exclusive CPUs and memory; with swap no container's memory may change. */
export function resizeInfeasibleByPolicy(
  config: Pick<KubeletConfiguration, 'cpuManager' | 'memoryManager' | 'cgroups'>,
): Pick<AllocationDeps, 'infeasible' | 'memoryInfeasible'> {
  const policies = [
    ...(config.cpuManager.policy === 'static' ? ['CPU Manager static policy'] : []),
    ...(config.memoryManager.policy === 'Static' ? ['Memory Manager static policy'] : []),
  ];
  return {
    infeasible: (pod: Pod) =>
      policies.length === 0 || podQosClass(pod) !== 'Guaranteed'
        ? undefined
        : `Resize is infeasible for Guaranteed Pods alongside ${policies[0]}`,
    memoryInfeasible:
      config.cgroups.swapBehavior === 'LimitedSwap'
        ? 'In-place resize of containers with swap is not supported'
        : undefined,
  };
}
