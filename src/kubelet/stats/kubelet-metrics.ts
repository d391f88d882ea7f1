/**
 * Metrics of `/metrics` other than counters: running pods and containers, and the space of claims' volumes. Computed
 * at each request. Upstream: pkg/kubelet/metrics and its collectors/volume_stats.go.
 */
import { podNamespace } from '../types/pod-update.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { VolumeManager } from '../volumes/volume-manager-contract.ts';
import type { KubeletHost } from '../server/host.ts';
import { claimOf } from './pod-summary.ts';
import { formatMetrics, type MetricFamily, type Sample } from './prometheus-text.ts';

type VolumeUse = Awaited<ReturnType<VolumeManager['volumeStats']>> extends ReadonlyMap<string, infer Use> ? Use : never;

/** One measured volume of a pod. */
export interface MeasuredVolume {
  readonly pod: Pod;
  readonly name: string;
  readonly use: VolumeUse;
}

const VOLUME_METRICS: readonly (readonly [name: string, help: string, read: (use: VolumeUse) => number | undefined])[] =
  [
    ['capacity_bytes', 'Capacity in bytes of the volume', (use) => use.capacityBytes],
    ['available_bytes', 'Number of available bytes in the volume', (use) => use.availableBytes],
    ['used_bytes', 'Number of used bytes in the volume', (use) => use.usedBytes],
    ['inodes', 'Maximum number of inodes in the volume', (use) => use.inodes],
    ['inodes_free', 'Number of free inodes in the volume', (use) => use.inodesFree],
    ['inodes_used', 'Number of used inodes in the volume', (use) => use.inodesUsed],
  ];

/** A claim that several pods use appears once. */
export function kubeletMetrics(host: KubeletHost, volumes: readonly MeasuredVolume[]): string {
  const statuses = host.pods().flatMap(({ metadata }) => host.podStatus(metadata.uid ?? '') ?? []);
  const states = Map.groupBy(
    statuses.flatMap(({ containers }) => containers),
    ({ state }) => state,
  );
  const gauge = (name: string, help: string, samples: readonly Sample[]): MetricFamily => ({
    name,
    help,
    type: 'gauge',
    samples,
  });
  return formatMetrics([
    gauge('kubelet_node_name', '[ALPHA] The node’s name. The count is always 1.', [
      { labels: { node: host.nodeName }, value: 1 },
    ]),
    gauge('kubelet_running_pods', '[BETA] Number of pods that have a running pod sandbox', [
      { labels: {}, value: statuses.filter(({ sandboxes }) => sandboxes.some(({ ready }) => ready)).length },
    ]),
    gauge(
      'kubelet_running_containers',
      '[BETA] Number of containers currently running',
      [...states].map(([state, { length }]) => ({ labels: { container_state: state }, value: length })),
    ),
    ...volumeFamilies(volumes).map(([name, help, samples]) => gauge(`kubelet_volume_stats_${name}`, help, samples)),
  ]);
}

function volumeFamilies(volumes: readonly MeasuredVolume[]): [string, string, Sample[]][] {
  const claims = new Map(
    volumes.flatMap(({ pod, name, use }) => {
      const claim = claimOf(pod, name);
      const labels = { namespace: podNamespace(pod), persistentvolumeclaim: claim ?? '' };
      return claim === undefined ? [] : [[`${labels.namespace}/${claim}`, { labels, use }]];
    }),
  );
  return VOLUME_METRICS.map(([name, help, read]) => [
    name,
    `[ALPHA] ${help}`,
    [...claims.values()].flatMap(({ labels, use }) => {
      const value = read(use);
      return value === undefined ? [] : [{ labels, value }];
    }),
  ]);
}
