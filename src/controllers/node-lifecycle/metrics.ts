/** Metrics of zones' health and of the duration of checks. Upstream: pkg/controller/nodelifecycle/metrics.go. */
import type { Node } from '../../api/gen/core-v1.ts';
import { isNodeReady, zoneKeyOf } from '../../component-helpers/nodes.ts';
import type { Metrics } from '../../platform/metrics.ts';

export interface NodeLifecycleMetrics {
  /** Records the zones at the end of a round and the duration of the round. */
  round(nodes: readonly Node[], seconds: number): void;
  /** Records how long the health check of one node took. */
  healthChecked(seconds: number): void;
  /** Counts a node of this zone that got a NoExecute taint. */
  evicted(zone: string): void;
}

const SECONDS = Array.from({ length: 15 }, (_, i) => 0.001 * 2 ** i);
const ALL_SECONDS = Array.from({ length: 10 }, (_, i) => 0.01 * 4 ** i);

export function createNodeLifecycleMetrics(metrics: Metrics): NodeLifecycleMetrics {
  const labels = ['zone'];
  const gauge = (name: string, help: string) => metrics.gauge({ name: `node_collector_${name}`, help, labels });
  const size = gauge('zone_size', 'Nodes of a zone.');
  const health = gauge('zone_health', 'Healthy nodes of a zone, in per cent.');
  const unhealthy = gauge('unhealthy_nodes_in_zone', 'Nodes of a zone that are not ready.');
  const evictions = metrics.counter({
    name: 'node_collector_evictions_total',
    help: 'Node evictions since the controller started.',
    labels,
  });
  const histogram = (name: string, help: string, buckets: readonly number[]) =>
    metrics.histogram({ name: `node_collector_${name}`, help, buckets });
  const oneNode = histogram(
    'update_node_health_duration_seconds',
    'Duration of the health check of one node.',
    SECONDS,
  );
  const allNodes = histogram(
    'update_all_nodes_health_duration_seconds',
    'Duration of the health check of all nodes.',
    ALL_SECONDS,
  );
  let zonesBefore = new Set<string>();
  return {
    evicted: (zone) => evictions.inc({ zone }),
    healthChecked: (seconds) => oneNode.observe(seconds),
    round(nodes, seconds) {
      allNodes.observe(seconds);
      const zones = Map.groupBy(nodes, zoneKeyOf);
      for (const [zone, members] of zones) {
        const ready = members.filter(isNodeReady).length;
        size.set(members.length, { zone });
        unhealthy.set(members.length - ready, { zone });
        health.set((100 * ready) / members.length, { zone });
      }
      for (const zone of zonesBefore)
        if (!zones.has(zone)) for (const each of [size, health, unhealthy]) each.remove({ zone });
      zonesBefore = new Set(zones.keys());
    },
  };
}
