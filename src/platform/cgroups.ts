/**
 * The cgroup port: versions 1 and 2 behind one interface with version 2's semantics. Names are slash-separated paths
 * below the instance's cgroup root, e.g. `/kubepods/burstable/pod<uid>`.
 */
import type { Pressures } from './pressure.ts';

/** Limits of a cgroup. Absent ones are left unchanged. */
export interface CgroupResources {
  readonly memoryMaxBytes?: number | 'max';
  readonly cpuShares?: number;
  readonly cpuQuotaUs?: number | 'max';
  readonly cpuPeriodUs?: number;
  readonly pidsMax?: number | 'max';
  /** Further cgroup v2 keys, e.g. `memory.min`. Ignored on v1 where there is no counterpart. */
  readonly unified?: Readonly<Record<string, string>>;
  /** Bytes per huge page size, e.g. `{ '2MB': 0 }`. */
  readonly hugePageLimits?: Readonly<Record<string, number>>;
}

/** Usage figures from a cgroup's files. */
export interface CgroupStats {
  readonly cpuUsageNs: number;
  readonly memoryUsageBytes: number;
  readonly memoryWorkingSetBytes: number;
  readonly memoryRssBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  readonly pids: number;
}

/** The counters of one block device for a cgroup. */
export interface CgroupDeviceCounters {
  readonly major: number;
  readonly minor: number;
  readonly readBytes: number;
  readonly writeBytes: number;
  readonly reads: number;
  readonly writes: number;
}

/** Counters for cadvisor's metrics. Absent ones have no file in this kernel. */
export interface CgroupCounters {
  readonly cpuUserNs?: number;
  readonly cpuSystemNs?: number;
  /** Periods of the CFS quota. */
  readonly cfsPeriods?: number;
  readonly cfsThrottledPeriods?: number;
  readonly cfsThrottledNs?: number;
  readonly memoryCacheBytes?: number;
  readonly memoryMappedFileBytes?: number;
  readonly memoryKernelBytes?: number;
  readonly memoryActiveFileBytes?: number;
  readonly memoryInactiveFileBytes?: number;
  readonly memoryMaxUsageBytes?: number;
  /** How often the memory limit was reached. */
  readonly memoryFailures?: number;
  readonly oomKills?: number;
  readonly devices: readonly CgroupDeviceCounters[];
}

/** Creates, limits, reads and removes cgroups. */
export interface Cgroups {
  readonly version: 1 | 2;
  exists(name: string): Promise<boolean>;
  /** Creates with all parents; applies the limits. Idempotent. */
  create(name: string, resources: CgroupResources): Promise<void>;
  update(name: string, resources: CgroupResources): Promise<void>;
  /** Kills every process below, then removes the tree. A missing cgroup is no error. */
  destroy(name: string): Promise<void>;
  /** Moves a process into the cgroup, which must exist. */
  addProcess(name: string, pid: number): Promise<void>;
  /** Pids of the cgroup and all below it. */
  pids(name: string): Promise<readonly number[]>;
  stats(name: string): Promise<CgroupStats>;
  /** The memory limit in force. */
  memoryMax(name: string): Promise<number | 'max'>;
  /**
   * The waiting times of the cgroup's tasks, or of those of the container with this id directly below it, whose
   * directory's name contains the id. Empty when the kernel does not report them or there is no such cgroup.
   */
  pressures(name: string, containerId?: string): Promise<Pressures>;
  /** Counters of the cgroup, or of the container with this id directly below it; undefined for a missing cgroup. */
  counters(name: string, containerId?: string): Promise<CgroupCounters | undefined>;
  /** Names of direct children. */
  children(name: string): Promise<readonly string[]>;
  /** The value handed to CRI as `cgroup_parent` for this name. */
  criParent(name: string): string;
}

/**
 * Upstream's conversion since v1.35: 1024 shares (one core) are weight 100, the default of both versions, unlike the
 * linear conversion before, which gave 39.
 */
export function cpuSharesToWeight(shares: number): number {
  if (shares <= 2) return 1;
  if (shares >= 262_144) return 10_000;
  const log = Math.log2(shares);
  return Math.ceil(10 ** ((log * log + 125 * log) / 612 - 7 / 34));
}
