/**
 * Disk usage of pods and containers. Pure. Upstream: podDiskUsage and its neighbours in
 * pkg/kubelet/eviction/helpers.go.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { podVolume } from '../runtime/pod-facts.ts';
import type { ContainerStats, FsStats, PodStats } from '../stats/summary-types.ts';

/** Statistics of a pod; undefined when it has none. */
export type StatsOf = (pod: Pod) => PodStats | undefined;

/** Which parts of a pod's disk usage are on the file system that runs low. */
export interface DiskParts {
  readonly layers: boolean;
  readonly logsAndVolumes: boolean;
}

const used = (fs: FsStats | undefined, what: 'bytes' | 'inodes'): number =>
  (what === 'bytes' ? fs?.usedBytes : fs?.inodesUsed) ?? 0;

/** Volumes whose content counts as the pod's ephemeral storage. */
function isLocalVolume(pod: Pod, name: string): boolean {
  const volume = podVolume(pod, name);
  if (volume === undefined) return false;
  const { emptyDir, configMap, secret, downwardAPI, projected, gitRepo } = volume as typeof volume & {
    gitRepo?: object;
  };
  if (emptyDir !== undefined) return (emptyDir.medium ?? '') === '';
  return [configMap, secret, downwardAPI, projected, gitRepo].some((source) => source !== undefined);
}

/** The bytes or inodes that a pod uses in these parts. */
export function diskUsage(pod: Pod, stats: PodStats, measure: { parts: DiskParts; what: 'bytes' | 'inodes' }): number {
  const { parts, what } = measure;
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
