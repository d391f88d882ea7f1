/** The scheduler's metrics under upstream's names. */
import type { Metrics } from '../platform/metrics.ts';

/** What is counted. */
export interface SchedulerMetrics {
  /** `seconds`: from entering the queue to bound. */
  attempt(result: 'scheduled' | 'unschedulable' | 'error', seconds: number): void;
  algorithmSeconds(seconds: number): void;
}

const SECONDS = [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1, 2, 4, 8, 16];

/** Registers the metrics. */
export function createSchedulerMetrics(metrics: Metrics): SchedulerMetrics {
  const attempts = metrics.counter({
    name: 'scheduler_schedule_attempts_total',
    help: 'Attempts to schedule pods, by result',
    labels: ['result', 'profile'],
  });
  const sli = metrics.histogram({
    name: 'scheduler_pod_scheduling_sli_duration_seconds',
    help: 'From entering the queue to bound',
    labels: [],
    buckets: SECONDS,
  });
  const algorithm = metrics.histogram({
    name: 'scheduler_scheduling_algorithm_duration_seconds',
    help: 'Time to find a node',
    labels: [],
    buckets: SECONDS,
  });
  return {
    attempt(result, seconds) {
      attempts.inc({ result, profile: 'default-scheduler' });
      if (result === 'scheduled') sli.observe(seconds);
    },
    algorithmSeconds: (seconds) => algorithm.observe(seconds),
  };
}
