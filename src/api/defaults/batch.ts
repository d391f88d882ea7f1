/** Defaults of batch/v1. Upstream: apis/batch/v1/defaults.go. */
import type { CronJob, Job } from '../gen/batch-v1.ts';
import { setPodTemplateSpecDefaults } from './pod.ts';

/** The retry limit of a whole job when `backoffLimitPerIndex` is set. */
const MAX_INT32 = 2147483647;

export function setJobDefaults(job: Job): void {
  const spec = job.spec;
  if (spec === undefined) return;
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : MAX_INT32;
  const labels = spec.template?.metadata?.labels;
  // As in Go, both maps are the same object: labels that the strategy adds to the template are also the job's.
  if (labels !== undefined && Object.keys(job.metadata.labels ?? {}).length === 0) job.metadata.labels = labels;
  spec.completionMode ??= 'NonIndexed';
  spec.suspend ??= false;
  for (const rule of spec.podFailurePolicy?.rules ?? []) {
    for (const pattern of rule.onPodConditions ?? []) pattern.status ||= 'True';
  }
  spec.podReplacementPolicy ??= spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed';
  spec.manualSelector ??= false;
  setPodTemplateSpecDefaults(spec.template);
}

/** Sets the defaults of a cron job. Its job template gets defaults when a job is created from it. */
export function setCronJobDefaults(cronJob: CronJob): void {
  const spec = cronJob.spec;
  if (spec === undefined) return;
  spec.concurrencyPolicy ||= 'Allow';
  spec.suspend ??= false;
  spec.successfulJobsHistoryLimit ??= 3;
  spec.failedJobsHistoryLimit ??= 1;
  setPodTemplateSpecDefaults(spec.jobTemplate?.spec?.template);
}
