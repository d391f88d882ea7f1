/** What looks at autoscalers came to. Upstream: podautoscaler/monitor. */
import type { Metrics } from '../../platform/metrics.ts';

/** What was decided. */
export type ScaleAction = 'scale_up' | 'scale_down' | 'none';

/** Why it came to nothing: the autoscaler's own settings, or the cluster. */
export type ScaleError = 'spec' | 'internal' | 'none';

/** What is told. */
export interface HpaMetrics {
  reconciled(action: ScaleAction, error: ScaleError, seconds: number): void;
  /** One metric was computed. */
  computed(told: { action: ScaleAction; error: ScaleError; metricType: string; seconds: number }): void;
  /** The size an autoscaler wishes for its target. */
  desired(of: HpaName, replicas: number): void;
  /** It is gone. */
  forget(of: HpaName): void;
  /** How many autoscalers there are. */
  count(autoscalers: number): void;
}

/** Which autoscaler. */
export interface HpaName {
  readonly namespace?: string;
  readonly name?: string;
}

const SECONDS = Array.from({ length: 15 }, (_, i) => 0.001 * 2 ** i);

/** Registers them. */
export function createHpaMetrics(metrics: Metrics): HpaMetrics {
  const subsystem = 'horizontal_pod_autoscaler_controller';
  const counter = (name: string, help: string, labels: string[]) =>
    metrics.counter({ name: `${subsystem}_${name}_total`, help, labels });
  const histogram = (name: string, help: string, labels: string[]) =>
    metrics.histogram({ name: `${subsystem}_${name}_duration_seconds`, help, labels, buckets: SECONDS });
  const labels = ['action', 'error'];
  const withType = [...labels, 'metric_type'];
  const reconciliations = counter('reconciliations', 'Looks at autoscalers by what came of them.', labels);
  const duration = histogram('reconciliation', 'Time that looks at autoscalers took.', labels);
  const computations = counter('metric_computation', 'Computations of single metrics.', withType);
  const computation = histogram('metric_computation', 'Time that computations of single metrics took.', withType);
  const gauge = (name: string, help: string, of: string[]) =>
    metrics.gauge({ name: `${subsystem}_${name}`, help, labels: of });
  const wishes = gauge('desired_replicas', 'Size that an autoscaler wishes for its target.', ['namespace', 'hpa_name']);
  const number = gauge('num_horizontal_pod_autoscalers', 'Autoscalers that there are.', []);
  const labelsOf = ({ namespace = '', name = '' }: HpaName) => ({ namespace, hpa_name: name });
  return {
    desired: (of, replicas) => wishes.set(replicas, labelsOf(of)),
    forget: (of) => wishes.remove(labelsOf(of)),
    count: (autoscalers) => number.set(autoscalers),
    reconciled(action, error, seconds) {
      reconciliations.inc({ action, error });
      duration.observe(seconds, { action, error });
    },
    computed({ action, error, metricType, seconds }) {
      const told = { action, error, metric_type: metricType };
      computations.inc(told);
      computation.observe(seconds, told);
    },
  };
}
