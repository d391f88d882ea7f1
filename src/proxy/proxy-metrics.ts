/** The proxy's metrics under kube-proxy's names. */
import type { Metrics } from '../platform/metrics.ts';

/** What the proxy counts. */
export interface ProxyMetrics {
  /** A transaction of so many seconds ended at this time. */
  synced(seconds: number, atSeconds: number): void;
  failed(): void;
  serviceChanged(): void;
  endpointsChanged(): void;
}

/** Creates them, or finds those created before. */
export function createProxyMetrics(metrics: Metrics): ProxyMetrics {
  const buckets = [
    0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384,
  ];
  const duration = metrics.histogram({
    name: 'kubeproxy_sync_proxy_rules_duration_seconds',
    help: 'SyncProxyRules latency in seconds',
    buckets,
  });
  const last = metrics.gauge({
    name: 'kubeproxy_sync_proxy_rules_last_timestamp_seconds',
    help: 'The last time proxy rules were successfully synced',
  });
  const failures = metrics.counter({
    name: 'kubeproxy_sync_proxy_rules_nftables_sync_failures_total',
    help: 'Cumulative proxy nftables sync failures',
  });
  const services = metrics.counter({
    name: 'kubeproxy_sync_proxy_rules_service_changes_total',
    help: 'Cumulative proxy rules Service changes',
  });
  const endpoints = metrics.counter({
    name: 'kubeproxy_sync_proxy_rules_endpoint_changes_total',
    help: 'Cumulative proxy rules Endpoint changes',
  });
  return {
    synced(seconds, atSeconds) {
      duration.observe(seconds);
      last.set(atSeconds);
    },
    failed: () => failures.inc(),
    serviceChanged: () => services.inc(),
    endpointsChanged: () => endpoints.inc(),
  };
}
