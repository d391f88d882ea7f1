/** Metrics of reconciliations. Upstream: podautoscaler/monitor. */
import type { Metrics } from '../../platform/metrics.ts';

/** Result of a reconciliation or of one metric. */
export type ScaleAction = 'scale_up' | 'scale_down' | 'none';

/** Cause of a failure: the autoscaler's own spec, or the cluster. */
export type ScaleError = 'spec' | 'internal' | 'none';

export interface HpaMonitor {
  reconciled(action: ScaleAction, error: ScaleError, seconds: number): void;
  /** Records the computation of one metric. */
  computed(result: { action: ScaleAction; error: ScaleError; metricType: string; seconds: number }): void;
  /** Records the desired replicas of an autoscaler's target. */
  desired(hpa: HpaName, replicas: number): void;
  /** Removes the series of a deleted autoscaler. */
  forget(hpa: HpaName): void;
  count(autoscalers: number): void;
}

export interface HpaName {
  readonly namespace?: string;
  readonly name?: string;
}

const SECONDS = Array.from({ length: 15 }, (_, i) => 0.001 * 2 ** i);

export function createHpaMonitor(metrics: Metrics): HpaMonitor {
  const subsystem = 'horizontal_pod_autoscaler_controller';
  const counter = (name: string, help: string, labels: string[]) =>
    metrics.counter({ name: `${subsystem}_${name}_total`, help, labels });
  const histogram = (name: string, help: string, labels: string[]) =>
    metrics.histogram({ name: `${subsystem}_${name}_duration_seconds`, help, labels, buckets: SECONDS });
  const labels = ['action', 'error'];
  const withType = [...labels, 'metric_type'];
  const reconciliations = counter('reconciliations', 'Number of reconciliations of HorizontalPodAutoscalers.', labels);
  const duration = histogram('reconciliation', 'Duration of reconciliations of HorizontalPodAutoscalers.', labels);
  const computations = counter('metric_computation', 'Number of metric computations.', withType);
  const computation = histogram('metric_computation', 'Duration of metric computations.', withType);
  const gauge = (name: string, help: string, hpa: string[]) =>
    metrics.gauge({ name: `${subsystem}_${name}`, help, labels: hpa });
  const desiredReplicas = gauge('desired_replicas', 'Desired replicas of an autoscaler.', ['namespace', 'hpa_name']);
  const number = gauge('num_horizontal_pod_autoscalers', 'Number of HorizontalPodAutoscalers.', []);
  const labelsOf = ({ namespace = '', name = '' }: HpaName) => ({ namespace, hpa_name: name });
  return {
    desired: (hpa, replicas) => desiredReplicas.set(replicas, labelsOf(hpa)),
    forget: (hpa) => desiredReplicas.remove(labelsOf(hpa)),
    count: (autoscalers) => number.set(autoscalers),
    reconciled(action, error, seconds) {
      reconciliations.inc({ action, error });
      duration.observe(seconds, { action, error });
    },
    computed({ action, error, metricType, seconds }) {
      const metricLabels = { action, error, metric_type: metricType };
      computations.inc(metricLabels);
      computation.observe(seconds, metricLabels);
    },
  };
}
