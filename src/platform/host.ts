/** Facts about the machine for NodeInfo and capacity. Real: /proc, /sys, os. Simulated: set by the test. */

export interface HostInfo {
  readonly hostname: string;
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  /** Go's names: linux, amd64, arm64. */
  readonly operatingSystem: string;
  readonly architecture: string;
  readonly cpuCount: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  readonly pidMax: number;
  readonly hugePages: readonly { readonly pageSizeBytes: number; readonly count: number }[];
}

/** A logical processor and its place. Socket and core number together identify a core. */
export interface HostCpu {
  readonly cpu: number;
  readonly core: number;
  readonly socket: number;
  readonly node: number;
}

/** A NUMA node; sizes in bytes. */
export interface HostNumaNode {
  readonly node: number;
  readonly memoryBytes: number;
  readonly hugePages: readonly { readonly pageSizeBytes: number; readonly count: number }[];
  /**
   * Distances to all nodes in order, including itself, as the firmware reports them (10 is near); absent without a
   * report.
   */
  readonly distances?: readonly number[];
}

/** Online processors and NUMA nodes, each sorted by number. */
export interface HostTopology {
  readonly cpus: readonly HostCpu[];
  readonly nodes: readonly HostNumaNode[];
}

/** Reads facts of the host. */
export interface Host {
  info(): Promise<HostInfo>;
  topology(): Promise<HostTopology>;
  /** Busy time of all processors so far, in nanoseconds; absent or undefined where /proc/stat shows it. */
  cpuUsageNs?(): Promise<number | undefined>;
  /** Memory available now and in use, bytes. */
  memory(): Promise<{ readonly availableBytes: number; readonly usageBytes: number; readonly workingSetBytes: number }>;
  /** Number of tasks running on the host now. */
  processCount(): Promise<number>;
}
