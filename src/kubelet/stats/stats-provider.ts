/** Statistics for the kubelet's server, eviction and node status. Upstream: stats.Provider, stats.SummaryProvider. */
import type { NodeStats, Summary } from './summary-types.ts';

/** Resource usage of this node. */
export interface StatsProvider {
  /** The document of the summary API. Parts that cannot be read are left out. */
  summary(options?: { readonly onlyCpuAndMemory?: boolean; readonly withoutPressure?: boolean }): Promise<Summary>;
  /** The resources of eviction signals: reads no pod, CPU time or interface. */
  node(): Promise<NodeStats>;
  /** The metrics of `/metrics` other than counters, in Prometheus text. */
  kubeletMetrics(): Promise<string>;
  /** `/metrics/cadvisor` in Prometheus text. */
  cadvisorMetrics(): Promise<string>;
  /** `/metrics/resource` in Prometheus text. */
  resourceMetrics(): Promise<string>;
}
