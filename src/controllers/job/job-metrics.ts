/** What becomes of jobs and their pods. Upstream: pkg/controller/job/metrics. */
import type { Job } from '../../api/gen/batch-v1.ts';
import type { Metrics } from '../../platform/metrics.ts';

/** What is told. */
export interface JobMetrics {
  /** A sync; `action`: what it did about pods. */
  synced(job: Job, told: { action: JobAction; failed: boolean; seconds: number }): void;
  /** A job is over; `reason`: of a failure, empty otherwise. */
  finished(job: Job, result: 'succeeded' | 'failed', reason: string): void;
  /** Pods were counted as ended. */
  podsFinished(job: Job, result: 'succeeded' | 'failed', count: number): void;
  podsCreated(succeeded: number, failed: number): void;
  /** There is one more ended pod with the finalizer (`add`), or one less. */
  tracked(event: 'add' | 'delete'): void;
}

/** What a sync did about pods. */
export type JobAction = 'reconciling' | 'tracking' | 'pods_created' | 'pods_deleted';

const SECONDS = Array.from({ length: 15 }, (_, i) => 0.004 * 2 ** i);

/** Registers them. */
export function createJobMetrics(metrics: Metrics): JobMetrics {
  const counter = (name: string, help: string, labels: string[]) =>
    metrics.counter({ name: `job_controller_${name}_total`, help, labels });
  const ofSync = ['completion_mode', 'result', 'action'];
  const syncs = counter('job_syncs', 'Job syncs.', ofSync);
  const seconds = metrics.histogram({
    name: 'job_controller_job_sync_duration_seconds',
    help: 'Time that job syncs took.',
    labels: ofSync,
    buckets: SECONDS,
  });
  const finished = counter('jobs_finished', 'Jobs that are over.', ['completion_mode', 'result', 'reason']);
  const pods = counter('job_pods_finished', 'Pods of jobs that were counted as ended.', ['completion_mode', 'result']);
  const created = counter('job_pods_creation', 'Pods made for jobs.', ['reason', 'status']);
  const tracked = counter('terminated_pods_tracking_finalizer', 'Ended pods with a finalizer, by event.', ['event']);
  const modeOf = ({ spec }: Job): { completion_mode: string } => ({
    completion_mode: spec?.completionMode ?? 'NonIndexed',
  });
  return {
    synced(job, told) {
      const labels = { ...modeOf(job), result: told.failed ? 'error' : 'success', action: told.action };
      syncs.inc(labels);
      seconds.observe(told.seconds, labels);
    },
    finished: (job, result, reason) => finished.inc({ ...modeOf(job), result, reason }),
    podsFinished(job, result, count) {
      if (count > 0) pods.inc({ ...modeOf(job), result }, count);
    },
    podsCreated(succeeded, failed) {
      for (const [status, count] of Object.entries({ succeeded, failed }))
        if (count > 0) created.inc({ reason: 'new', status }, count);
    },
    tracked: (event) => tracked.inc({ event }),
  };
}
