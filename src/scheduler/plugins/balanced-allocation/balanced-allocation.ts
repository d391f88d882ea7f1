/** NodeResourcesBalancedAllocation: prefers nodes whose cpu and memory would be used alike. Upstream: noderesources/balanced_allocation.go. */
import { podRequests } from '../../../component-helpers/pod-resources.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';

/** Creates the plugin. */
export function createBalancedAllocation(): SchedulerPlugin {
  return {
    name: 'NodeResourcesBalancedAllocation',
    preScore(_state, pod) {
      const { requests } = podRequests(pod);
      const asksNothing = requests.milliCpu === 0 && requests.memoryBytes === 0 && requests.scalars === undefined;
      return asksNothing ? { code: 'skip', reasons: [], plugin: 'NodeResourcesBalancedAllocation' } : undefined;
    },
    score(_state, pod, info) {
      const { requests } = podRequests(pod);
      const cpu = fraction(info.requested.milliCpu + requests.milliCpu, info.allocatable.milliCpu);
      const memory = fraction(info.requested.memoryBytes + requests.memoryBytes, info.allocatable.memoryBytes);
      // The standard deviation of two fractions is half their distance.
      return Math.floor((1 - Math.abs(cpu - memory) / 2) * 100);
    },
  };
}

function fraction(used: number, capacity: number): number {
  return capacity === 0 ? 1 : Math.min(1, used / capacity);
}
