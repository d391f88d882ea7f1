/** What pods use of what runs low, what they asked for, and in which order they go. Pure. Upstream: the rank functions of pkg/kubelet/eviction/helpers.go. */
import type { Pod } from '../../api/gen/core-v1.ts';
import { podRequests } from '../../component-helpers/pod-resources.ts';
import type { ContainerStats, FsStats, PodStats } from '../stats/summary-types.ts';
import type { StarvedResource } from './thresholds.ts';

/** Statistics of a pod; undefined when it has none. */
export type StatsOf = (pod: Pod) => PodStats | undefined;

/** Which parts of a pod's disk use lie on the file system that runs low. */
export interface DiskParts {
  readonly layers: boolean;
  readonly logsAndVolumes: boolean;
}

const used = (fs: FsStats | undefined, what: 'bytes' | 'inodes'): number =>
  (what === 'bytes' ? fs?.usedBytes : fs?.inodesUsed) ?? 0;

/** Volumes whose content counts as the pod's ephemeral storage. */
export function isLocalVolume(pod: Pod, name: string): boolean {
  const volume = pod.spec?.volumes?.find((candidate) => candidate.name === name);
  if (volume === undefined) return false;
  const { emptyDir, configMap, secret, downwardAPI, projected, gitRepo } = volume as typeof volume & {
    gitRepo?: object;
  };
  if (emptyDir !== undefined) return (emptyDir.medium ?? '') === '';
  return [configMap, secret, downwardAPI, projected, gitRepo].some((source) => source !== undefined);
}

/** Bytes or inodes a pod uses of the parts. */
export function diskUsage(pod: Pod, stats: PodStats, of: { parts: DiskParts; what: 'bytes' | 'inodes' }): number {
  const { parts, what } = of;
  let total = 0;
  for (const { rootfs, logs } of stats.containers) {
    if (parts.layers) total += used(rootfs, what);
    if (parts.logsAndVolumes) total += used(logs, what);
  }
  if (!parts.logsAndVolumes) return total;
  for (const volume of stats.volume ?? []) if (isLocalVolume(pod, volume.name)) total += used(volume, what);
  return total;
}

/** Layers and logs of one container. */
export function containerDiskUsage({ rootfs, logs }: ContainerStats): number {
  return used(rootfs, 'bytes') + used(logs, 'bytes');
}

interface Ranked {
  readonly pod: Pod;
  readonly hasStats: boolean;
  readonly exceeds: boolean;
  readonly priority: number;
  readonly above: number;
}

function usageAndRequest(
  pod: Pod,
  stats: PodStats,
  of: { resource: StarvedResource; parts: DiskParts },
): readonly [number, number] {
  const { requests } = podRequests(pod);
  if (of.resource === 'memory') return [stats.memory?.workingSetBytes ?? 0, requests.memoryBytes];
  if (of.resource === 'pids') return [stats.process_stats?.process_count ?? 0, 0];
  if (of.resource === 'inodes') return [diskUsage(pod, stats, { parts: of.parts, what: 'inodes' }), 0];
  return [diskUsage(pod, stats, { parts: of.parts, what: 'bytes' }), requests.ephemeralBytes];
}

/**
 * Pods in the order they are to be evicted: those that use more than they asked for, then lower priority, then more above
 * the request. Pods without statistics come first: they cannot be shown to behave.
 */
export function rankPods(
  pods: readonly Pod[],
  statsOf: StatsOf,
  of: { resource: StarvedResource; parts: DiskParts },
): Pod[] {
  const ranked = pods.map((pod): Ranked => {
    const stats = statsOf(pod);
    const [usage, request] = stats === undefined ? [0, 0] : usageAndRequest(pod, stats, of);
    const judged = of.resource === 'memory' || of.resource === 'ephemeral-storage';
    return {
      pod,
      hasStats: stats !== undefined,
      exceeds: judged && usage > request,
      priority: pod.spec?.priority ?? 0,
      above: usage - request,
    };
  });
  return ranked
    .sort(
      (a, b) =>
        Number(a.hasStats) - Number(b.hasStats) ||
        Number(b.exceeds) - Number(a.exceeds) ||
        a.priority - b.priority ||
        b.above - a.above,
    )
    .map(({ pod }) => pod);
}
