/** What a node has of a resource by name, and what a pod asks for of it, for scores. Upstream: noderesources/resource_allocation.go. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { podRequests } from '../../component-helpers/pod-resources.ts';
import type { NodeInfo } from '../cache/node-info.ts';
import type { DeviceCounts } from '../devices/device-counts.ts';

/** Amounts of one resource on one node. */
export interface Room {
  readonly capacity: number;
  readonly used: number;
}

export interface Counting {
  /** With upstream's assumptions for containers that ask for no processor or memory. */
  readonly assuming: boolean;
  /** What is there in devices; absent: none. */
  readonly devices?: DeviceCounts | undefined;
}

/** What all pods of the node ask for, of how much. What no device plugin counts may be there in devices. */
export function roomOf(info: NodeInfo, name: string, { assuming, devices }: Counting): Room {
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

/** What the pod asks for. */
export function askedOf(pod: Stored<Pod>, name: string, { assuming }: Counting): number {
  const { requests, nonZero } = podRequests(pod);
  if (name === 'cpu') return (assuming ? nonZero : requests).milliCpu;
  if (name === 'memory') return (assuming ? nonZero : requests).memoryBytes;
  return name === 'ephemeral-storage' ? requests.ephemeralBytes : (requests.scalars?.[name] ?? 0);
}

/** Whether the resource counts only for pods that ask for it. */
export function isScalar(name: string): boolean {
  return name !== 'cpu' && name !== 'memory' && name !== 'ephemeral-storage';
}
