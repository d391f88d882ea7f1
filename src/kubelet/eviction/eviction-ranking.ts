/**
 * The order in which pods are evicted when a resource of the node runs low. Pure. Upstream: rankMemoryPressure,
 * rankDiskPressureFunc and rankPIDPressure in pkg/kubelet/eviction/helpers.go.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { podRequests } from '../../component-helpers/pod-resources.ts';
import type { PodStats } from '../stats/summary-types.ts';
import { type DiskParts, diskUsage, type StatsOf } from './pod-usage.ts';
import type { StarvedResource } from './thresholds.ts';

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
  shortage: { resource: StarvedResource; parts: DiskParts },
): readonly [number, number] {
  const { requests } = podRequests(pod);
  if (shortage.resource === 'memory') return [stats.memory?.workingSetBytes ?? 0, requests.memoryBytes];
  if (shortage.resource === 'pids') return [stats.process_stats?.process_count ?? 0, 0];
  if (shortage.resource === 'inodes') return [diskUsage(pod, stats, { parts: shortage.parts, what: 'inodes' }), 0];
  return [diskUsage(pod, stats, { parts: shortage.parts, what: 'bytes' }), requests.ephemeralBytes];
}

/**
 * Pods in the order of eviction: those that use more than they requested, then lower priority, then more usage above
 * the request. Pods without statistics come first, as it is unknown whether they stay within their requests.
 */
export function rankPodsForEviction(
  pods: readonly Pod[],
  statsOf: StatsOf,
  shortage: { resource: StarvedResource; parts: DiskParts },
): Pod[] {
  const ranked = pods.map((pod): Ranked => {
    const stats = statsOf(pod);
    const [usage, request] = stats === undefined ? [0, 0] : usageAndRequest(pod, stats, shortage);
    const hasRequests = shortage.resource === 'memory' || shortage.resource === 'ephemeral-storage';
    return {
      pod,
      hasStats: stats !== undefined,
      exceeds: hasRequests && usage > request,
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
