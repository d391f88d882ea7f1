/** NodeResourcesBalancedAllocation: prefers nodes whose resources would be used alike. Upstream: noderesources/balanced_allocation.go. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import { podRequests } from '../../../component-helpers/pod-resources.ts';
import type { NodeInfo } from '../../cache/node-info.ts';
import { defaultArgs, type BalancedAllocationArgs } from '../../config/plugin-args.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';

const NAME = 'NodeResourcesBalancedAllocation';

/** Creates the plugin. */
export function createBalancedAllocation(
  { resources }: BalancedAllocationArgs = defaultArgs.balancedAllocation,
): SchedulerPlugin {
  const names = resources.map(({ name }) => name);
  const plain = names.length === 2 && names.includes('cpu') && names.includes('memory');
  return {
    name: NAME,
    nodeLocal: true,
    preScore(_state, pod) {
      const { requests } = podRequests(pod);
      const asksNothing = requests.milliCpu === 0 && requests.memoryBytes === 0 && requests.scalars === undefined;
      return asksNothing ? { code: 'skip', reasons: [], plugin: NAME } : undefined;
    },
    score: (_state, pod, info) => (plain ? cpuAgainstMemory(pod, info) : deviation(names, pod, info)),
  };
}

/** The standard deviation of two fractions is half their distance. */
function cpuAgainstMemory(pod: Pod, { requested, allocatable }: NodeInfo): number {
  const { requests } = podRequests(pod);
  const cpu = fraction(requested.milliCpu + requests.milliCpu, allocatable.milliCpu);
  const memory = fraction(requested.memoryBytes + requests.memoryBytes, allocatable.memoryBytes);
  return Math.floor((1 - Math.abs(cpu - memory) / 2) * 100);
}

/** Resources the node has not, or the pod asks nothing of beside cpu and memory, do not count. */
function deviation(names: readonly string[], pod: Pod, { requested, allocatable }: NodeInfo): number {
  const { requests } = podRequests(pod);
  const fractions = names.flatMap((name) => {
    if (name === 'cpu') return [fraction(requested.milliCpu + requests.milliCpu, allocatable.milliCpu)];
    if (name === 'memory') return [fraction(requested.memoryBytes + requests.memoryBytes, allocatable.memoryBytes)];
    if (name === 'ephemeral-storage')
      return [fraction(requested.ephemeralBytes + requests.ephemeralBytes, allocatable.ephemeralBytes)];
    const asked = requests.scalars?.[name] ?? 0;
    const capacity = allocatable.scalars?.[name] ?? 0;
    return asked === 0 || capacity === 0 ? [] : [fraction((requested.scalars?.[name] ?? 0) + asked, capacity)];
  });
  if (fractions.length === 0) return 0;
  const mean = fractions.reduce((a, b) => a + b, 0) / fractions.length;
  const variance = fractions.reduce((sum, one) => sum + (one - mean) ** 2, 0) / fractions.length;
  return Math.floor((1 - Math.sqrt(variance)) * 100);
}

function fraction(used: number, capacity: number): number {
  return capacity === 0 ? 1 : Math.min(1, used / capacity);
}
