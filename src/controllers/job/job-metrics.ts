/** Metrics of jobs and their pods. Upstream: pkg/controller/job/metrics. */
import type { Job, JobStatus } from '../../api/gen/batch-v1.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { parseIndexes } from './indexes.ts';

export interface JobMetrics {
  /** Records a sync; `action`: its kind of change to pods. */
  synced(job: Job, outcome: { action: JobAction; failed: boolean; seconds: number }): void;
  /** Counts a finished job; `reason`: from its last condition. */
  finished(job: Job, result: 'succeeded' | 'failed', reason: string): void;
  /** Counts the pods and indexes that a written status counts as ended beyond `before`. */
  counted(job: Job, before: JobStatus | undefined, after: JobStatus): void;
  /** Counts the actions of the failure policy for failed pods. */
  handledByPolicy(actions: readonly string[]): void;
  /** Counts a job of another controller, when it is first observed. */
  managedElsewhere(controller: string): void;
  /** Counts a sync that was skipped because the cache lacks the controller's own writes. */
  skippedAsStale(): void;
  podsCreated(reason: CreationReason, succeeded: number, failed: number): void;
  /** Counts pods that ended with the tracking finalizer (`add`), and those that lost it. */
  tracked(event: 'add' | 'delete'): void;
}

/** The kind of change that a sync made to pods. */
export type JobAction = 'reconciling' | 'tracking' | 'pods_created' | 'pods_deleted';

/** The reason for creating pods: a new one, or a replacement by the pod replacement policy. */
export type CreationReason = 'new' | 'recreate_terminating_or_failed' | 'recreate_failed';

const SECONDS = Array.from({ length: 15 }, (_, i) => 0.004 * 2 ** i);

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
  const indexes = counter('job_finished_indexes', 'Indexes that are over.', ['status', 'backoffLimit']);
  const handled = counter('pod_failures_handled_by_failure_policy', 'Failed pods by what the policy does.', ['action']);
  const elsewhere = counter('jobs_by_external_controller', 'Jobs that others manage.', ['controller_name']);
  const stale = counter('stale_sync_skips', 'Syncs left out because the cache was behind.', ['group', 'resource']);
  const tracked = counter('terminated_pods_tracking_finalizer', 'Ended pods with a finalizer, by event.', ['event']);
  const modeOf = ({ spec }: Job): { completion_mode: string } => ({
    completion_mode: spec?.completionMode ?? 'NonIndexed',
  });
  return {
    synced(job, outcome) {
      const labels = { ...modeOf(job), result: outcome.failed ? 'error' : 'success', action: outcome.action };
      syncs.inc(labels);
      seconds.observe(outcome.seconds, labels);
    },
    finished: (job, result, reason) => finished.inc({ ...modeOf(job), result, reason }),
    counted(job, before, after) {
      for (const result of ['succeeded', 'failed'] as const) {
        const count = (after[result] ?? 0) - (before?.[result] ?? 0);
        if (count > 0) pods.inc({ ...modeOf(job), result }, count);
      }
      const backoffLimit = job.spec?.backoffLimitPerIndex === undefined ? 'global' : 'perIndex';
      for (const [status, field] of Object.entries({
        succeeded: 'completedIndexes',
        failed: 'failedIndexes',
      } as const)) {
        if (after[field] === before?.[field]) continue;
        const size = (text: string | undefined): number => parseIndexes(text, job.spec?.completions ?? 0).size;
        const count = size(after[field]) - size(before?.[field]);
        if (count > 0) indexes.inc({ status, backoffLimit }, count);
      }
    },
    handledByPolicy: (actions) => actions.forEach((action) => handled.inc({ action })),
    managedElsewhere: (controller) => elsewhere.inc({ controller_name: controller }),
    skippedAsStale: () => stale.inc({ group: 'batch', resource: 'jobs' }),
    podsCreated(reason, succeeded, failed) {
      for (const [status, count] of Object.entries({ succeeded, failed }))
        if (count > 0) created.inc({ reason, status }, count);
    },
    tracked: (event) => tracked.inc({ event }),
  };
}
