/** The proxy's metrics under kube-proxy's names. */
import type { Metrics } from '../platform/metrics.ts';

export interface ProxyMetrics {
  /** Records a transaction's duration and the time of its end. */
  synced(seconds: number, atSeconds: number): void;
  failed(): void;
  serviceChanged(): void;
  endpointsChanged(): void;
  /** Records the time since which changes wait to be written. */
  queued(atSeconds: number): void;
  /** Records the time from the trigger of a change of endpoints until it is in the kernel. */
  programmed(seconds: number): void;
}

/** Upstream's names of failed transactions, by mode. */
const FAILURES = {
  nftables: ['kubeproxy_sync_proxy_rules_nftables_sync_failures_total', 'Cumulative proxy nftables sync failures'],
  iptables: [
    'kubeproxy_sync_proxy_rules_iptables_restore_failures_total',
    'Cumulative proxy iptables restore failures',
  ],
} as const;

/** 0.25 s to 5 minutes: finest below a minute. */
const PROGRAMMING_SECONDS = [
  0.25,
  0.5,
  ...Array.from({ length: 59 }, (_, index) => 1 + index),
  ...Array.from({ length: 12 }, (_, index) => 60 + 5 * index),
  ...Array.from({ length: 7 }, (_, index) => 120 + 30 * index),
];

/** Registers the metrics, or finds them registered. */
export function createProxyMetrics(metrics: Metrics, mode: keyof typeof FAILURES = 'nftables'): ProxyMetrics {
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
  const [name, help] = FAILURES[mode];
  const failures = metrics.counter({ name, help });
  const queued = metrics.gauge({
    name: 'kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds',
    help: 'The last time a sync of proxy rules was queued',
  });
  const programming = metrics.histogram({
    name: 'kubeproxy_network_programming_duration_seconds',
    help: 'In Cluster Network Programming Latency in seconds',
    buckets: PROGRAMMING_SECONDS,
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
    queued: (atSeconds) => queued.set(atSeconds),
    programmed: (seconds) => programming.observe(seconds),
  };
}
