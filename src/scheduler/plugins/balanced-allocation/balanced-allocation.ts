/**
 * NodeResourcesBalancedAllocation: prefers nodes where the pod makes the use of resources more even. Upstream:
 * noderesources/balanced_allocation.go.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { podRequests } from '../../../component-helpers/pod-resources.ts';
import type { NodeInfo } from '../../cache/node-info.ts';
import { defaultArgs, type BalancedAllocationArgs } from '../../config/plugin-args.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';
import { countDevices, mayBeDevices, type DeviceCounts, type DeviceLookups } from '../../devices/device-counts.ts';
import {
  calculatePodResourceRequest,
  isScalar,
  calculateResourceAllocatableRequest,
  type ResourceCountOptions,
} from '../../framework/resource-allocation.ts';

const NAME = 'NodeResourcesBalancedAllocation';
const EXACTLY: ResourceCountOptions = { assuming: false };

/** Without `lookups` no resource has a device class. */
export function createBalancedAllocation(
  { resources }: BalancedAllocationArgs = defaultArgs.balancedAllocation,
  lookups?: DeviceLookups,
): SchedulerPlugin {
  const names = resources.map(({ name }) => name);
  const plain = names.length === 2 && names.includes('cpu') && names.includes('memory');
  const scoresDevices = names.some(mayBeDevices);
  return {
    name: NAME,
    nodeLocal: true,
    scoresNeedMore: scoresDevices ? true : undefined,
    preScore(state, pod) {
      if (names.every((name) => calculatePodResourceRequest(pod, name, EXACTLY) === 0))
        return { code: 'skip', reasons: [], plugin: NAME };
      if (scoresDevices && lookups !== undefined) state.set(NAME, countDevices(lookups, names));
      return undefined;
    },
    score(state, pod, info) {
      if (plain) return cpuAndMemory(pod, info);
      const fractions = fractionsOf(names, { pod, info, devices: state.get(NAME) as DeviceCounts | undefined });
      return scoreOfChange(
        balance(fractions.map(([with_]) => with_)),
        balance(fractions.map(([, without]) => without)),
      );
    },
  };
}

/** From 50 to 100; 75 where the pod does not change the balance. */
function scoreOfChange(balanceWith: number, balanceWithout: number): number {
  return 50 + Math.floor((50 + balanceWith - balanceWithout) / 2);
}

/** The score for cpu and memory, without building a list. */
function cpuAndMemory(pod: Stored<Pod>, { requested, allocatable }: NodeInfo): number {
  if (allocatable.milliCpu === 0 || allocatable.memoryBytes === 0) return scoreOfChange(100, 100);
  const { requests } = podRequests(pod);
  const cpu = (requestedAmount: number): number =>
    Math.min(1, (requested.milliCpu + requestedAmount) / allocatable.milliCpu);
  const memory = (requestedAmount: number): number =>
    Math.min(1, (requested.memoryBytes + requestedAmount) / allocatable.memoryBytes);
  return scoreOfChange(
    balanceOfTwo(cpu(requests.milliCpu), memory(requests.memoryBytes)),
    balanceOfTwo(cpu(0), memory(0)),
  );
}

/** The standard deviation of two fractions is half their distance. */
function balanceOfTwo(a: number, b: number): number {
  return Math.floor((1 - Math.abs(a - b) / 2) * 100);
}

function balance(fractions: readonly number[]): number {
  const [first = 0, second = first] = fractions;
  if (fractions.length <= 2) return balanceOfTwo(first, second);
  const mean = fractions.reduce((a, b) => a + b, 0) / fractions.length;
  const variance = fractions.reduce((sum, one) => sum + (one - mean) ** 2, 0) / fractions.length;
  return Math.floor((1 - Math.sqrt(variance)) * 100);
}

/**
 * The used fraction of each resource, with the pod and without it. Resources that the node does not have, and scalar
 * resources that the pod does not request, are left out.
 */
function fractionsOf(
  names: readonly string[],
  candidate: { readonly pod: Stored<Pod>; readonly info: NodeInfo; readonly devices: DeviceCounts | undefined },
): [withPod: number, without: number][] {
  const counting = { ...EXACTLY, devices: candidate.devices };
  return names.flatMap((name): [number, number][] => {
    const requestedAmount = calculatePodResourceRequest(candidate.pod, name, counting);
    if (requestedAmount === 0 && isScalar(name)) return [];
    const { capacity, used } = calculateResourceAllocatableRequest(candidate.info, name, counting);
    return capacity === 0 ? [] : [[Math.min(1, (used + requestedAmount) / capacity), Math.min(1, used / capacity)]];
  });
}
