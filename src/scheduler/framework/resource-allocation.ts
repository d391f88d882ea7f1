/**
 * The amounts of a resource that a node has and that a pod requests, for scores. Upstream:
 * noderesources/resource_allocation.go.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { podRequests } from '../../component-helpers/pod-resources.ts';
import type { NodeInfo } from '../cache/node-info.ts';
import type { DeviceCounts } from '../devices/device-counts.ts';

/** Amounts of one resource on one node. */
export interface AllocatableRequest {
  readonly capacity: number;
  readonly used: number;
}

export interface ResourceCountOptions {
  /** Containers without a request count with upstream's default requests. */
  readonly assuming: boolean;
  /** The node's devices; absent: none are counted. */
  readonly devices?: DeviceCounts | undefined;
}

/**
 * The requests of all pods of the node, and its capacity. A resource that the node does not have may be provided by
 * devices.
 */
export function calculateResourceAllocatableRequest(
  info: NodeInfo,
  name: string,
  { assuming, devices }: ResourceCountOptions,
): AllocatableRequest {
  const { node, allocatable, requested } = info;
  switch (name) {
    case 'cpu':
      return { capacity: allocatable.milliCpu, used: assuming ? info.nonZeroMilliCpu : requested.milliCpu };
    case 'memory':
      return { capacity: allocatable.memoryBytes, used: assuming ? info.nonZeroMemoryBytes : requested.memoryBytes };
    case 'ephemeral-storage':
      return { capacity: allocatable.ephemeralBytes, used: requested.ephemeralBytes };
    default: {
      const capacity = allocatable.scalars?.[name] ?? 0;
      const counted = capacity === 0 ? devices?.(node, name) : undefined;
      return counted ?? { capacity, used: requested.scalars?.[name] ?? 0 };
    }
  }
}

export function calculatePodResourceRequest(
  pod: Stored<Pod>,
  name: string,
  { assuming }: ResourceCountOptions,
): number {
  const { requests, nonZero } = podRequests(pod);
  if (name === 'cpu') return (assuming ? nonZero : requests).milliCpu;
  if (name === 'memory') return (assuming ? nonZero : requests).memoryBytes;
  return name === 'ephemeral-storage' ? requests.ephemeralBytes : (requests.scalars?.[name] ?? 0);
}

/** Whether the resource counts only for pods that request it. */
export function isScalar(name: string): boolean {
  return name !== 'cpu' && name !== 'memory' && name !== 'ephemeral-storage';
}
