/**
 * Usage of the whole node: CPU time and network from /proc, memory and tasks from the host port. Upstream: cadvisor's
 * root container.
 */
import type { Platform } from '../../platform/platform.ts';
import type { InterfaceStats } from './summary-types.ts';

/** Ticks per second in /proc/stat, on every Linux that Node.js supports. */
const TICKS_PER_SECOND = 100;
const NANOS_PER_TICK = 1e9 / TICKS_PER_SECOND;

/** One reading. Values that cannot be read are absent. */
export interface NodeUsage {
  readonly cpuUsageNs?: number;
  readonly memory: { readonly availableBytes: number; readonly usageBytes: number; readonly workingSetBytes: number };
  readonly processes: number;
  readonly maxPid: number;
  readonly cpuCount: number;
  readonly memoryBytes: number;
  readonly interfaces: readonly InterfaceStats[];
  /** Name of the interface with the default route. */
  readonly defaultInterface?: string;
}

/** Reads only the resources of eviction signals: memory and processes, without CPU time and interfaces. */
export async function readNodeSupply({ host }: Pick<Platform, 'host'>): Promise<NodeUsage> {
  const [info, memory, processes] = await Promise.all([host.info(), host.memory(), host.processCount()]);
  const { pidMax, cpuCount, memoryBytes } = info;
  return { memory, processes, maxPid: pidMax, cpuCount, memoryBytes, interfaces: [] };
}

export async function readNodeUsage(platform: Pick<Platform, 'files' | 'host'>): Promise<NodeUsage> {
  const { files, host } = platform;
  const read = async (path: string): Promise<string> => ((await files.exists(path)) ? files.readText(path) : '');
  const [supply, counted, stat, devices, routes] = await Promise.all([
    readNodeSupply(platform),
    host.cpuUsageNs?.(),
    read('/proc/stat'),
    read('/proc/net/dev'),
    read('/proc/net/route'),
  ]);
  const cpuUsageNs = counted ?? busyNanoseconds(stat);
  const defaultInterface = defaultRouteInterface(routes);
  return {
    ...supply,
    ...(cpuUsageNs === undefined ? {} : { cpuUsageNs }),
    interfaces: parseInterfaces(devices),
    ...(defaultInterface === undefined ? {} : { defaultInterface }),
  };
}

/** CPU time without idle and iowait. User time includes guest time. */
export function busyNanoseconds(stat: string): number | undefined {
  const line = /^cpu +(.*)$/m.exec(stat)?.[1];
  if (line === undefined) return undefined;
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line.split(/ +/).map(Number);
  return (user + nice + system + irq + softirq + steal) * NANOS_PER_TICK;
}

/** Counters of each interface but loopback. */
export function parseInterfaces(text: string): InterfaceStats[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*([^:\s]+):\s*(.*)$/.exec(line);
    if (match === null || match[1] === 'lo') return [];
    const counters = match[2]!.trim().split(/\s+/).map(Number);
    return [
      {
        name: match[1]!,
        rxBytes: counters[0]!,
        rxErrors: counters[2]!,
        txBytes: counters[8]!,
        txErrors: counters[10]!,
      },
    ];
  });
}

function defaultRouteInterface(routes: string): string | undefined {
  for (const line of routes.split('\n').slice(1)) {
    const [name, destination, , , , , , mask] = line.split(/\s+/);
    if (destination === '00000000' && mask === '00000000') return name;
  }
  return undefined;
}
