/** Contract of statistics towards the kubelet's server, eviction and node status. Upstream: stats.Provider, stats.SummaryProvider. */
import type { NodeStats, Summary } from './summary-types.ts';

/** Use of resources on this node. */
export interface StatsProvider {
  /** The summary API's document. A part that cannot be read now is left out. */
  summary(options?: { readonly onlyCpuAndMemory?: boolean; readonly withoutPressure?: boolean }): Promise<Summary>;
  /** What may run low on the node, for eviction: reads no pod, no CPU time and no interface. */
  node(): Promise<NodeStats>;
  /** The part of `/metrics` besides counters, in Prometheus text. */
  kubeletMetrics(): Promise<string>;
  /** `/metrics/cadvisor` in Prometheus text. */
  cadvisorMetrics(): Promise<string>;
  /** `/metrics/resource` in Prometheus text. */
  resourceMetrics(): Promise<string>;
}
