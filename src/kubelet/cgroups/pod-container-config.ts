/** The settings of pods' cgroups: reservations and what is enforced. */
import type { Pod } from '../../api/gen/core-v1.ts';
import { quantityMilliValue, quantityValue } from '../../api/quantity.ts';
import type { EventTarget } from '../../client/event-recorder.ts';
import type { CgroupResources, Cgroups } from '../../platform/cgroups.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import { milliCpuToShares } from '../runtime/linux-resources.ts';
import type { PodResourceOptions } from './pod-resource-config.ts';

/** The resources of all pods together: capacity minus the system's reservation, without eviction thresholds. */
export interface NodeAllocatable {
  readonly milliCpu: number;
  readonly memoryBytes: number;
  readonly pids?: number;
}

export interface PodContainerManagerDeps {
  readonly cgroups: Cgroups;
  readonly platform: Pick<BasePlatform, 'clock' | 'log'>;
  readonly nodeAllocatable: () => Promise<NodeAllocatable>;
  /** Pods without a CPU quota, whatever their limits, since their CPUs are exclusive. Default: none. */
  readonly withoutCpuQuota?: (pod: Pod) => boolean;
  /** Pods that run or may run, for the shares of the burstable class. */
  readonly activePods: () => readonly Pod[];
  readonly recorder?: KubeletEventRecorder;
  /** The node, for events. */
  readonly nodeRef?: EventTarget;
}

/** An existing cgroup below the instance's root, and its reservation. */
export interface ReservedCgroup {
  readonly cgroup: string;
  readonly amounts: Readonly<Record<string, string>>;
}

/** Field names are upstream's. */
export interface PodContainerManagerConfig extends PodResourceOptions {
  /** Below the instance's root; `/` is upstream's default. */
  readonly cgroupRoot: string;
  /** False: pods get no cgroups of their own. */
  readonly cgroupsPerQos: boolean;
  /** Upstream's list; `pods` limits `/kubepods`, `none` or nothing does not. */
  readonly enforceNodeAllocatable: readonly string[];
  /** The percentage of the memory requests of guaranteed and burstable pods that lower classes may not use. Default 0. */
  readonly qosReservedMemoryPercent?: number;
  /** Cgroups of system and Kubernetes processes, limited to their reservations if enforceNodeAllocatable has them. */
  readonly reserved?: Readonly<Record<'system' | 'kube', ReservedCgroup>>;
}

/**
 * The limits of a reserved cgroup. CPU is compressible and always limited; memory and processes only with full
 * enforcement.
 */
export function reservedLimits(amounts: Readonly<Record<string, string>>, whole: boolean): CgroupResources {
  const { cpu, memory, pid } = amounts;
  return {
    ...(cpu === undefined ? {} : { cpuShares: milliCpuToShares(quantityMilliValue(cpu)) }),
    ...(memory === undefined || !whole ? {} : { memoryMaxBytes: quantityValue(memory) }),
    ...(pid === undefined || !whole ? {} : { pidsMax: quantityValue(pid) }),
  };
}
