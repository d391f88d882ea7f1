/** Metrics of relists under upstream's names. Upstream: pkg/kubelet/metrics. */
import type { Gauge, Histogram, Metrics } from '../../platform/metrics.ts';

export interface PlegMetrics {
  readonly duration: Histogram;
  readonly interval: Histogram;
  readonly lastSeen: Gauge;
}

export function createPlegMetrics(metrics: Metrics): PlegMetrics {
  return {
    duration: metrics.histogram({
      name: 'kubelet_pleg_relist_duration_seconds',
      help: 'Duration in seconds for relisting pods in PLEG.',
    }),
    interval: metrics.histogram({
      name: 'kubelet_pleg_relist_interval_seconds',
      help: 'Interval in seconds between relisting in PLEG.',
    }),
    lastSeen: metrics.gauge({
      name: 'kubelet_pleg_last_seen_seconds',
      help: 'Timestamp in seconds when PLEG was last seen active.',
    }),
  };
}
