/**
 * The early releases' scores of resource use, 0 to 10, from what containers request: LeastRequestedPriority and
 * BalancedResourceAllocation. Policy files and algorithm providers use them; the modern plugins score 0 to 100. Upstream:
 * plugin/pkg/scheduler/algorithm/priorities of v1.0.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { podRequests } from '../../../component-helpers/pod-resources.ts';
import type { NodeInfo } from '../../cache/node-info.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';

/** `((capacity - total) * 10) / capacity` of cpu and memory, and their mean; whole numbers at each step. */
export function createLeastRequestedPriority(): SchedulerPlugin {
  return {
    name: 'LeastRequestedPriority',
    score(_state, pod, node) {
      const { cpu, memory } = totals(pod, node);
      const { milliCpu, memoryBytes } = node.allocatable;
      return Math.floor((unused(cpu, milliCpu) + unused(memory, memoryBytes)) / 2);
    },
  };
}

/** `10 - |cpu fraction - memory fraction| * 10`; 0 where either is used up. */
export function createBalancedResourceAllocation(): SchedulerPlugin {
  return {
    name: 'BalancedResourceAllocation',
    score(_state, pod, node) {
      const { cpu, memory } = totals(pod, node);
      const cpuFraction = fraction(cpu, node.allocatable.milliCpu);
      const memoryFraction = fraction(memory, node.allocatable.memoryBytes);
      if (cpuFraction >= 1 || memoryFraction >= 1) return 0;
      return Math.floor(10 - Math.abs(cpuFraction - memoryFraction) * 10);
    },
  };
}

export function createEqualPriority(): SchedulerPlugin {
  return { name: 'EqualPriority', score: () => 1 };
}

function totals(pod: Stored<Pod>, { requested }: NodeInfo): { cpu: number; memory: number } {
  const { requests } = podRequests(pod);
  return { cpu: requested.milliCpu + requests.milliCpu, memory: requested.memoryBytes + requests.memoryBytes };
}

function unused(total: number, capacity: number): number {
  return capacity === 0 || total > capacity ? 0 : Math.floor(((capacity - total) * 10) / capacity);
}

function fraction(total: number, capacity: number): number {
  return capacity === 0 ? 1 : total / capacity;
}
