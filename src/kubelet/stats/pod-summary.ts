/** One pod's part of the summary. Upstream: makePodStats and makeContainerStats in stats/cri_stats_provider.go. */
import { podNamespace } from '../types/pod-update.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { podVolume } from '../runtime/pod-facts.ts';
import { formatTime } from '../../api/time.ts';
import type { CgroupStats } from '../../platform/cgroups.ts';
import type { FileSystemStat } from '../../platform/files.ts';
import type { VolumeManager } from '../volumes/volume-manager-contract.ts';
import { withPressures, type PodPressures } from './pressures.ts';
import { spaceOf } from './space.ts';
import type { ContainerUsage, PodUsage } from './runtime-usage.ts';
import type { ContainerStats, CpuStats, FsStats, MemoryStats, PodStats, VolumeStats } from './summary-types.ts';
import type { UsageRates } from './usage-rates.ts';

export interface PodReadings {
  readonly pod: Pod;
  readonly usage: PodUsage;
  readonly nowMs: number;
  /** Statistics of the pod's cgroup, when it has one. */
  readonly cgroup?: CgroupStats;
  /** Wall-clock start by container id. */
  readonly startedAtMs: ReadonlyMap<string, number>;
  /** Bytes and files of logs by container name. */
  readonly logs?: ReadonlyMap<string, { readonly bytes: number; readonly files: number }>;
  readonly volumes?: Awaited<ReturnType<VolumeManager['volumeStats']>>;
  /** Bytes of files that the kubelet mounts writable into containers: the hosts file, termination messages. */
  readonly ownFileBytes?: number;
  /** The node's disk. */
  readonly disk?: FileSystemStat;
  /** The file system of containers' writable layers. */
  readonly containerFs?: Omit<FsStats, 'time'>;
  readonly pressures?: PodPressures;
}

/** The pod's part of the summary. Only CPU and memory when logs and volumes were not read. */
export function podSummary(readings: PodReadings, rates: UsageRates): PodStats {
  const { pod, usage, nowMs } = readings;
  const { name = '', namespace = '', uid = '' } = pod.metadata;
  const time = formatTime(nowMs);
  const containers = usage.containers.map((container) => containerStats(container, readings, rates));
  const volume = readings.volumes === undefined ? undefined : volumeStats(pod, readings.volumes, time);
  return {
    podRef: { name, namespace, uid },
    startTime: pod.status?.startTime ?? pod.metadata.creationTimestamp ?? time,
    containers,
    ...withPressures(podCpuAndMemory(readings, rates), readings.pressures?.own, time),
    network: usage.interfaces && { time, ...usage.interfaces[0]!, interfaces: usage.interfaces },
    volume,
    'ephemeral-storage': readings.disk && ephemeralStorage(readings, containers, readings.disk),
    process_stats: usage.processes === undefined ? undefined : { process_count: usage.processes },
  };
}

/** From the pod's cgroup, which includes processes outside its containers; otherwise the sum of the containers. */
function podCpuAndMemory(
  { pod, usage, cgroup, nowMs }: PodReadings,
  rates: UsageRates,
): { cpu?: CpuStats; memory?: MemoryStats } {
  const key = `pod/${pod.metadata.uid}`;
  if (cgroup !== undefined)
    return {
      cpu: cpuStats({ key, timeMs: nowMs, usageNs: cgroup.cpuUsageNs }, rates),
      memory: cgroupMemory(cgroup, nowMs),
    };
  if (usage.containers.length === 0) return {};
  const sum = (read: (container: ContainerUsage) => number | undefined): number =>
    usage.containers.reduce((total, own) => total + (read(own) ?? 0), 0);
  const memory = {
    time: formatTime(nowMs),
    workingSetBytes: sum((own) => own.workingSetBytes),
    usageBytes: sum((own) => own.usageBytes),
    rssBytes: sum((own) => own.rssBytes),
  };
  return { cpu: cpuStats({ key, timeMs: nowMs, usageNs: sum((own) => own.cpuUsageNs) }, rates), memory };
}

export function cgroupMemory(stats: CgroupStats, nowMs: number): MemoryStats {
  return {
    time: formatTime(nowMs),
    usageBytes: stats.memoryUsageBytes,
    workingSetBytes: stats.memoryWorkingSetBytes,
    rssBytes: stats.memoryRssBytes,
    pageFaults: stats.pageFaults,
    majorPageFaults: stats.majorPageFaults,
  };
}

/** CPU time, and its rate once there are two readings. */
export function cpuStats(
  sample: { readonly key: string; readonly timeMs: number; readonly usageNs: number },
  rates: UsageRates,
): CpuStats {
  const usageNanoCores = rates.rate(sample.key, sample.timeMs, sample.usageNs);
  return {
    time: formatTime(sample.timeMs),
    usageNanoCores,
    usageCoreNanoSeconds: sample.usageNs,
  };
}

function containerStats(container: ContainerUsage, readings: PodReadings, rates: UsageRates): ContainerStats {
  const timeMs = container.timeMs || readings.nowMs;
  const time = formatTime(timeMs);
  const { cpuUsageNs, workingSetBytes, usageBytes, rssBytes, availableBytes, pageFaults, majorPageFaults } = container;
  const memory = Object.fromEntries(
    Object.entries({ availableBytes, usageBytes, workingSetBytes, rssBytes, pageFaults, majorPageFaults }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  const measured = {
    cpu:
      cpuUsageNs === undefined
        ? undefined
        : cpuStats({ key: `container/${container.id}`, timeMs, usageNs: cpuUsageNs }, rates),
    memory: workingSetBytes === undefined ? undefined : { time, ...memory },
  };
  const logs = readings.logs?.get(container.name);
  return {
    name: container.name,
    startTime: formatTime(readings.startedAtMs.get(container.id) ?? readings.nowMs),
    ...withPressures(measured, readings.pressures?.containers.get(container.id), time),
    rootfs: readings.disk && rootfsStats(container, readings, time),
    logs:
      readings.disk === undefined || logs === undefined
        ? undefined
        : { ...spaceOf(readings.disk), time, usedBytes: logs.bytes, inodesUsed: logs.files },
  };
}

function rootfsStats(container: ContainerUsage, { containerFs, disk }: PodReadings, time: string): FsStats {
  const { availableBytes, capacityBytes, inodes, inodesFree } = containerFs ?? spaceOf(disk!);
  const space = Object.fromEntries(
    Object.entries({ availableBytes, capacityBytes, inodes, inodesFree }).filter(([, value]) => value !== undefined),
  );
  return {
    time,
    ...space,
    ...(container.rootfsUsedBytes === undefined ? {} : { usedBytes: container.rootfsUsedBytes }),
    ...(container.rootfsInodesUsed === undefined ? {} : { inodesUsed: container.rootfsInodesUsed }),
  };
}

/** The claim behind a volume of a pod; undefined: there is none. */
export function claimOf(pod: Pod, name: string): string | undefined {
  const volume = podVolume(pod, name);
  return (
    volume?.persistentVolumeClaim?.claimName ??
    (volume?.ephemeral === undefined ? undefined : `${pod.metadata.name}-${name}`)
  );
}

function volumeStats(pod: Pod, uses: NonNullable<PodReadings['volumes']>, time: string): VolumeStats[] {
  return [...uses].map(([name, use]) => {
    const claim = claimOf(pod, name);
    return {
      time,
      ...use,
      name,
      pvcRef: claim === undefined ? undefined : { name: claim, namespace: podNamespace(pod) },
    };
  });
}

/**
 * Writable layers, logs, the kubelet's files, and volumes on the node's disk, which count for the ephemeral-storage
 * limit.
 */
function ephemeralStorage(readings: PodReadings, containers: readonly ContainerStats[], disk: FileSystemStat): FsStats {
  let usedBytes = readings.ownFileBytes ?? 0;
  let inodesUsed = 0;
  for (const { rootfs, logs } of containers) {
    usedBytes += (rootfs?.usedBytes ?? 0) + (logs?.usedBytes ?? 0);
    inodesUsed += rootfs?.inodesUsed ?? 0;
  }
  for (const [name, use] of readings.volumes ?? []) {
    const volume = podVolume(readings.pod, name);
    const onDisk =
      volume?.configMap !== undefined || (volume?.emptyDir !== undefined && (volume.emptyDir.medium ?? '') === '');
    if (!onDisk) continue;
    usedBytes += use.usedBytes;
    inodesUsed += use.inodesUsed;
  }
  return { time: formatTime(readings.nowMs), ...spaceOf(disk), usedBytes, inodesUsed };
}
