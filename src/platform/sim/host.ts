/** A host as the test describes it. */
import type { Host, HostInfo, HostTopology } from '../host.ts';

/** A host whose state can be changed while it runs. */
export interface SimHost extends Host {
  /** Memory in use; the rest of `memoryBytes` is available. */
  memoryUsageBytes: number;
  processes: number;
  /** Memory and processor use besides `memoryUsageBytes`. */
  load?: () => { readonly memoryBytes: number; readonly cpuUsageNs: number };
  /** One socket and NUMA node with a thread per core, unless set. */
  shape: HostTopology;
}

/** Default: four CPUs, 8 GiB, Linux on amd64. */
export function createSimHost(facts: Partial<HostInfo> = {}): SimHost {
  const info: HostInfo = {
    hostname: 'sim-node',
    machineId: '00000000000000000000000000000001',
    systemUuid: '00000000-0000-0000-0000-000000000001',
    bootId: '00000000-0000-0000-0000-0000000000b0',
    kernelVersion: '6.12.0-sim',
    osImage: 'Keelson simulated host',
    operatingSystem: 'linux',
    architecture: 'amd64',
    cpuCount: 4,
    memoryBytes: 8 * 2 ** 30,
    swapBytes: 0,
    pidMax: 4_194_304,
    hugePages: [],
    ...facts,
  };
  const host: SimHost = {
    memoryUsageBytes: 2 ** 30,
    shape: {
      cpus: Array.from({ length: info.cpuCount }, (_, cpu) => ({ cpu, core: cpu, socket: 0, node: 0 })),
      nodes: [{ node: 0, memoryBytes: info.memoryBytes, hugePages: info.hugePages }],
    },
    topology: async () => host.shape,
    processes: 100,
    info: async () => info,
    memory: async () => {
      const usageBytes = host.memoryUsageBytes + (host.load?.().memoryBytes ?? 0);
      const availableBytes = Math.max(0, info.memoryBytes - usageBytes);
      return { availableBytes, usageBytes, workingSetBytes: usageBytes };
    },
    cpuUsageNs: async () => host.load?.().cpuUsageNs,
    processCount: async () => host.processes,
  };
  return host;
}
