/** Reads a cgroup's counters from its files, of version 1 and 2. Upstream: opencontainers/cgroups fs and fs2, as cadvisor uses them. */
import type { CgroupCounters, CgroupDeviceCounters } from '../cgroups.ts';
import type { Files } from '../files.ts';
import { containerDirectory, parseFlatKeyed, readCgroupFile } from './cgroup-files.ts';

/** Ticks per second of `cpuacct.stat`, on every Linux Node runs on. */
const NS_PER_TICK = 1e9 / 100;

type ReadFile = (controller: string, file: string) => Promise<string>;

/** Counters of version 2; undefined where there is no such cgroup. */
export async function readCountersV2(
  files: Files,
  path: string,
  containerId?: string,
): Promise<CgroupCounters | undefined> {
  const directory = containerId === undefined ? path : await containerDirectory(files, path, containerId);
  if (directory === undefined || !(await files.exists(directory))) return undefined;
  const read = (file: string): Promise<string> => readCgroupFile(files, `${directory}/${file}`);
  const [cpuText, memoryText, eventText, peak, io] = await Promise.all(
    ['cpu.stat', 'memory.stat', 'memory.events', 'memory.peak', 'io.stat'].map(read),
  );
  const [cpu, memory, events] = [cpuText, memoryText, eventText].map((text = '') => parseFlatKeyed(text));
  return {
    cpuUserNs: times(cpu?.get('user_usec'), 1000),
    cpuSystemNs: times(cpu?.get('system_usec'), 1000),
    cfsPeriods: cpu?.get('nr_periods'),
    cfsThrottledPeriods: cpu?.get('nr_throttled'),
    cfsThrottledNs: times(cpu?.get('throttled_usec'), 1000),
    memoryCacheBytes: memory?.get('file'),
    memoryMappedFileBytes: memory?.get('file_mapped'),
    memoryKernelBytes: memory?.get('kernel'),
    memoryActiveFileBytes: memory?.get('active_file'),
    memoryInactiveFileBytes: memory?.get('inactive_file'),
    memoryMaxUsageBytes: numberOf(peak),
    memoryFailures: events?.get('max'),
    oomKills: events?.get('oom_kill'),
    devices: ioDevices(io ?? ''),
  };
}

/** Counters of version 1; undefined where there is no such cgroup. `pathOf`: the cgroup in the mount of a controller. */
export async function readCountersV1(
  files: Files,
  pathOf: (controller: string) => string,
  containerId?: string,
): Promise<CgroupCounters | undefined> {
  const directories = new Map<string, Promise<string | undefined>>();
  const directoryIn = (controller: string): Promise<string | undefined> => {
    const path = pathOf(controller);
    const found = containerId === undefined ? Promise.resolve(path) : containerDirectory(files, path, containerId);
    if (!directories.has(controller)) directories.set(controller, found);
    return directories.get(controller) ?? found;
  };
  const read: ReadFile = async (controller, file) => {
    const directory = await directoryIn(controller);
    return directory === undefined ? '' : readCgroupFile(files, `${directory}/${file}`);
  };
  const [cpu, times10ms, memory, oom] = await Promise.all([
    read('cpu', 'cpu.stat').then(parseFlatKeyed),
    read('cpuacct', 'cpuacct.stat').then(parseFlatKeyed),
    read('memory', 'memory.stat').then(parseFlatKeyed),
    read('memory', 'memory.oom_control').then(parseFlatKeyed),
  ]);
  if (!memory.has('total_cache') && !cpu.has('nr_periods')) return undefined;
  const [peak, failures, kernel, bytes, operations] = await Promise.all([
    read('memory', 'memory.max_usage_in_bytes'),
    read('memory', 'memory.failcnt'),
    read('memory', 'memory.kmem.usage_in_bytes'),
    read('blkio', 'blkio.throttle.io_service_bytes'),
    read('blkio', 'blkio.throttle.io_serviced'),
  ]);
  return {
    cpuUserNs: times(times10ms.get('user'), NS_PER_TICK),
    cpuSystemNs: times(times10ms.get('system'), NS_PER_TICK),
    cfsPeriods: cpu.get('nr_periods'),
    cfsThrottledPeriods: cpu.get('nr_throttled'),
    cfsThrottledNs: cpu.get('throttled_time'),
    memoryCacheBytes: memory.get('total_cache'),
    memoryMappedFileBytes: memory.get('total_mapped_file'),
    memoryKernelBytes: numberOf(kernel),
    memoryActiveFileBytes: memory.get('total_active_file'),
    memoryInactiveFileBytes: memory.get('total_inactive_file'),
    memoryMaxUsageBytes: numberOf(peak),
    memoryFailures: numberOf(failures),
    oomKills: oom.get('oom_kill'),
    devices: blkioDevices(bytes, operations),
  };
}

/** `8:0 rbytes=1 wbytes=2 rios=3 wios=4 …` */
function ioDevices(text: string): CgroupDeviceCounters[] {
  return [...text.matchAll(/^(\d+):(\d+) (.*)$/gm)].map(([, major, minor, rest = '']) => {
    const values = new Map(rest.split(' ').map((pair) => pair.split('=') as [string, string]));
    const value = (key: string): number => Number(values.get(key) ?? 0);
    const [readBytes, writeBytes, reads, writes] = ['rbytes', 'wbytes', 'rios', 'wios'].map(value);
    return deviceOf([major, minor], { readBytes, writeBytes, reads, writes });
  });
}

/** Two files of lines `8:0 Read 123`. */
function blkioDevices(bytes: string, operations: string): CgroupDeviceCounters[] {
  const parse = (text: string): Map<string, number> =>
    new Map(
      [...text.matchAll(/^(\d+:\d+) (Read|Write) (\d+)$/gm)].map(([, device, kind, value]) => [
        `${device} ${kind}`,
        Number(value),
      ]),
    );
  const [sizes, counts] = [parse(bytes), parse(operations)];
  const devices = new Set([...sizes.keys(), ...counts.keys()].map((key) => key.split(' ')[0] ?? ''));
  return [...devices].map((device) =>
    deviceOf(device.split(':'), {
      readBytes: sizes.get(`${device} Read`),
      writeBytes: sizes.get(`${device} Write`),
      reads: counts.get(`${device} Read`),
      writes: counts.get(`${device} Write`),
    }),
  );
}

function deviceOf(
  [major, minor]: readonly (string | undefined)[],
  counts: { readonly [name in keyof Omit<CgroupDeviceCounters, 'major' | 'minor'>]: number | undefined },
): CgroupDeviceCounters {
  const { readBytes = 0, writeBytes = 0, reads = 0, writes = 0 } = counts;
  return { major: Number(major), minor: Number(minor), readBytes, writeBytes, reads, writes };
}

function times(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : value * factor;
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined || text === '' ? undefined : Number(text);
}
