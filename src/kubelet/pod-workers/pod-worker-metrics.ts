/** Upstream's metrics of pod workers. */
import type { Histogram, Metrics } from '../../platform/metrics.ts';

export interface PodWorkerMetrics {
  readonly duration: Histogram;
  readonly startDuration: Histogram;
}

export function createPodWorkerMetrics(metrics: Metrics): PodWorkerMetrics {
  return {
    duration: metrics.histogram({
      name: 'kubelet_pod_worker_duration_seconds',
      help: 'Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync',
      labels: ['operation_type'],
    }),
    startDuration: metrics.histogram({
      name: 'kubelet_pod_worker_start_duration_seconds',
      help: 'Duration in seconds from kubelet seeing a pod to starting a worker.',
    }),
  };
}
