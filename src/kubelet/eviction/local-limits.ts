/** Pods that exceed their limits of ephemeral storage. Pure. Upstream: localStorageEviction in eviction_manager.go. */
import { firstByName } from '../../base/first-by.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { addQuantities, compareQuantities, quantityValue } from '../../api/quantity.ts';
import type { PodStats } from '../stats/summary-types.ts';
import { limitMessages } from './messages.ts';
import { containerDiskUsage, diskUsage } from './pod-usage.ts';

const RESOURCE = 'ephemeral-storage';

function isLimited({ resources }: Container): boolean {
  return resources?.limits?.[RESOURCE] !== undefined;
}

/** Whether the pod has such a limit. */
export function hasStorageLimit({ spec }: Pod): boolean {
  return (
    spec?.volumes?.some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined) === true ||
    spec?.containers?.some(isLimited) === true ||
    spec?.initContainers?.some(isLimited) === true
  );
}

/** Why the pod is evicted; undefined while it stays within its limits. */
export function brokenStorageLimit(pod: Pod, stats: PodStats): string | undefined {
  return emptyDirLimit(pod, stats) ?? podLimit(pod, stats) ?? containerLimit(pod, stats);
}

function emptyDirLimit(pod: Pod, stats: PodStats): string | undefined {
  const volumes = firstByName(stats.volume);
  for (const { name, emptyDir } of pod.spec?.volumes ?? []) {
    const limit = emptyDir?.sizeLimit;
    if (limit === undefined || quantityValue(limit) === 0) continue;
    const use = volumes.get(name)?.usedBytes;
    if (use !== undefined && use > quantityValue(limit)) return limitMessages.emptyDir(name, limit);
  }
  return undefined;
}

/** The sum of the containers' limits where any has one, or the largest of an init container, and the overhead. */
function totalLimit(pod: Pod): string | undefined {
  const limits = (pod.spec?.containers ?? []).flatMap(({ resources }) => resources?.limits?.[RESOURCE] ?? []);
  let total = limits.length === 0 ? undefined : limits.reduce((sum, limit) => addQuantities(sum, limit));
  for (const { resources } of pod.spec?.initContainers ?? []) {
    const limit = resources?.limits?.[RESOURCE];
    if (limit !== undefined && (total === undefined || compareQuantities(limit, total) > 0)) total = limit;
  }
  const overhead = pod.spec?.overhead?.[RESOURCE];
  return total !== undefined && overhead !== undefined ? addQuantities(total, overhead) : total;
}

function podLimit(pod: Pod, stats: PodStats): string | undefined {
  const limit = totalLimit(pod);
  if (limit === undefined) return undefined;
  const parts = diskUsage(pod, stats, { parts: { layers: true, logsAndVolumes: true }, what: 'bytes' });
  // The total in the statistics contains the kubelet's own files, which no part shows.
  const use = Math.max(parts, stats['ephemeral-storage']?.usedBytes ?? 0);
  return use > quantityValue(limit) ? limitMessages.pod(limit) : undefined;
}

function containerLimit(pod: Pod, stats: PodStats): string | undefined {
  const containers = firstByName(stats.containers);
  for (const { name, resources } of pod.spec?.containers ?? []) {
    const limit = resources?.limits?.[RESOURCE];
    const own = containers.get(name);
    if (limit !== undefined && own !== undefined && containerDiskUsage(own) > quantityValue(limit))
      return limitMessages.container(name, limit);
  }
  return undefined;
}
