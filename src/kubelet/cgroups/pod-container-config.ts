/** The settings of pods' cgroups: what is reserved for others and what is enforced. */
import type { Pod } from '../../api/gen/core-v1.ts';
import { quantityMilliValue, quantityValue } from '../../api/quantity.ts';
import type { EventTarget } from '../../client/event-recorder.ts';
import type { CgroupResources, Cgroups } from '../../platform/cgroups.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import { milliCpuToShares } from '../runtime/linux-resources.ts';
import type { PodResourceOptions } from './pod-resource-config.ts';

/** What all pods together may use: capacity less what is reserved for the system, without eviction thresholds. */
export interface NodeAllocatable {
  readonly milliCpu: number;
  readonly memoryBytes: number;
  readonly pids?: number;
}

export interface PodContainerManagerDeps {
  readonly cgroups: Cgroups;
  readonly platform: Pick<BasePlatform, 'clock' | 'log'>;
  readonly nodeAllocatable: () => Promise<NodeAllocatable>;
  /** Pods no quota throttles, whatever their limits: they have processors alone. Default: none. */
  readonly withoutCpuQuota?: (pod: Pod) => boolean;
  /** Pods that run or may run, for the shares of the burstable class. */
  readonly activePods: () => readonly Pod[];
  readonly recorder?: KubeletEventRecorder;
  /** The node, for events. */
  readonly nodeRef?: EventTarget;
}

/** A cgroup that must be there, below the instance's root, and what is reserved for it. */
export interface ReservedCgroup {
  readonly cgroup: string;
  readonly amounts: Readonly<Record<string, string>>;
}

/** How cgroups are used. Upstream's names. */
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

/** CPU can be squeezed; memory and processes only where all is enforced. */
export function reservedLimits(amounts: Readonly<Record<string, string>>, whole: boolean): CgroupResources {
  const { cpu, memory, pid } = amounts;
  return {
    ...(cpu === undefined ? {} : { cpuShares: milliCpuToShares(quantityMilliValue(cpu)) }),
    ...(memory === undefined || !whole ? {} : { memoryMaxBytes: quantityValue(memory) }),
    ...(pid === undefined || !whole ? {} : { pidsMax: quantityValue(pid) }),
  };
}
