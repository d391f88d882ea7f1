/**
 * The scores of NodeResourcesFit: least allocated, most allocated, or a configured shape of utilization. Pure.
 * Upstream: noderesources/{least_allocated,most_allocated,requested_to_capacity_ratio}.go.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { podRequests } from '../../../component-helpers/pod-resources.ts';
import type { NodeInfo } from '../../cache/node-info.ts';
import type { FitArgs, ShapePoint } from '../../config/plugin-args.ts';
import type { DeviceCounts } from '../../devices/device-counts.ts';
import {
  calculatePodResourceRequest,
  isScalar,
  calculateResourceAllocatableRequest,
} from '../../framework/resource-allocation.ts';

/** The score of a node, 0 to 100. `devices`: the resources that devices provide. */
export type ResourceScorer = (pod: Stored<Pod>, node: NodeInfo, devices?: DeviceCounts) => number;

/** The scorer of the configured strategy. */
export function createResourceScorer(args: FitArgs): ResourceScorer {
  const [first, second] = args.resources;
  const plain =
    args.resources.length === 2 && first?.name === 'cpu' && second?.name === 'memory' && first.weight === second.weight;
  if (args.strategy === 'LeastAllocated' && plain) return leastCpuAndMemory;
  if (args.strategy === 'RequestedToCapacityRatio') {
    const shape = args.shape.map(({ utilization, score }) => ({ utilization, score: score * 10 }));
    return weighted(
      args,
      (used, capacity) => pieceOf(shape, capacity === 0 || used > capacity ? 100 : Math.floor((used * 100) / capacity)),
      true,
    );
  }
  if (args.strategy === 'MostAllocated')
    return weighted(args, (used, capacity) => Math.floor((Math.min(used, capacity) * 100) / capacity), false);
  return weighted(
    args,
    (used, capacity) => (used > capacity ? 0 : Math.floor(((capacity - used) * 100) / capacity)),
    false,
  );
}

/** The default strategy, without lists: it runs for every node. */
function leastCpuAndMemory(pod: Stored<Pod>, { allocatable, nonZeroMilliCpu, nonZeroMemoryBytes }: NodeInfo): number {
  const { nonZero } = podRequests(pod);
  const cpu = free(nonZeroMilliCpu + nonZero.milliCpu, allocatable.milliCpu);
  const memory = free(nonZeroMemoryBytes + nonZero.memoryBytes, allocatable.memoryBytes);
  const parts = (allocatable.milliCpu > 0 ? 1 : 0) + (allocatable.memoryBytes > 0 ? 1 : 0);
  return parts === 0 ? 0 : Math.floor((cpu + memory) / parts);
}

function free(used: number, capacity: number): number {
  return capacity === 0 || used > capacity ? 0 : Math.floor(((capacity - used) * 100) / capacity);
}

function weighted(
  { resources }: FitArgs,
  scoreOf: (used: number, capacity: number) => number,
  leavesOutZero: boolean,
): ResourceScorer {
  return (pod, node, devices) => {
    const counting = { assuming: true, devices };
    let sum = 0;
    let weights = 0;
    for (const { name, weight } of resources) {
      const asked = calculatePodResourceRequest(pod, name, counting);
      if (asked === 0 && isScalar(name)) continue;
      const { capacity, used } = calculateResourceAllocatableRequest(node, name, counting);
      if (capacity === 0) continue;
      const score = scoreOf(used + asked, capacity);
      if (leavesOutZero && score === 0) continue;
      sum += score * weight;
      weights += weight;
    }
    if (weights === 0) return 0;
    return leavesOutZero ? Math.round(sum / weights) : Math.floor(sum / weights);
  };
}

/** The value of a piecewise linear function at `utilization`. */
function pieceOf(shape: readonly ShapePoint[], utilization: number): number {
  const after = shape.findIndex((point) => utilization <= point.utilization);
  if (after === -1) return shape.at(-1)?.score ?? 0;
  const right = shape[after] as ShapePoint;
  const left = shape[after - 1];
  if (left === undefined) return right.score;
  return Math.trunc(
    left.score +
      ((right.score - left.score) * (utilization - left.utilization)) / (right.utilization - left.utilization),
  );
}
