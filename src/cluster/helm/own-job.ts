/**
 * The Job of a release that this process installs: it has the name and conditions of k3s' helm jobs, so that `kubectl
 * wait` works, but no pods. Its `managedBy` field keeps the job controller away. Pure.
 */
import { isConditionTrue } from '../../component-helpers/conditions.ts';
import type { Job, JobCondition, JobStatus } from '../../api/gen/batch-v1.ts';
import type { Stored } from '../../api/object.ts';
import { CHART_LABEL, HASH_ANNOTATION, JOB_MANAGER, jobName, ownerOf } from './chart-names.ts';
import type { HelmChart } from './helm-kinds.ts';

const DEFAULT_BACKOFF_LIMIT = 1000;
/** As the restart back-off of a failing container. */
const RETRY_MS = { initial: 10_000, max: 300_000 };
/** The reason is the job controller's, whose message counts pods. */
const COMPLETE = { reason: 'CompletionsReached', message: 'helm has succeeded' };

export function ownJob(chart: Stored<HelmChart>, action: 'install' | 'delete', hash: string): Job {
  const { name, namespace } = chart.metadata;
  const labels = { [CHART_LABEL]: name };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: jobName(action, name),
      namespace,
      labels,
      annotations: { [HASH_ANNOTATION]: hash },
      ownerReferences: action === 'install' ? [ownerOf(chart)] : undefined,
    },
    spec: {
      managedBy: JOB_MANAGER,
      backoffLimit: chart.spec?.backOffLimit ?? DEFAULT_BACKOFF_LIMIT,
      // No pod is created from it.
      template: {
        metadata: { labels },
        spec: { restartPolicy: 'Never', containers: [{ name: 'helm', image: JOB_MANAGER, args: [action] }] },
      },
    },
  };
}

export function isOver(job: Job, type: 'Complete' | 'Failed'): boolean {
  return isConditionTrue(job, type);
}

export function startedStatus({ status = {} }: Job, now: string): JobStatus {
  return { ...status, startTime: status.startTime ?? now };
}

export function completeStatus({ status = {} }: Job, now: string): JobStatus {
  const conditions = [jobCondition('SuccessCriteriaMet', now, COMPLETE), jobCondition('Complete', now, COMPLETE)];
  return { ...status, startTime: status.startTime ?? now, completionTime: now, succeeded: 1, conditions };
}

/** The status after a further failure; Failed when the limit is exceeded. */
export function failedStatus({ spec, status = {} }: Job, message: string, now: string): JobStatus {
  const failed = (status.failed ?? 0) + 1;
  const next = { ...status, startTime: status.startTime ?? now, failed };
  if (failed <= (spec?.backoffLimit ?? DEFAULT_BACKOFF_LIMIT)) return next;
  const why = { reason: 'BackoffLimitExceeded', message };
  return { ...next, conditions: [jobCondition('FailureTarget', now, why), jobCondition('Failed', now, why)] };
}

/** The delay before the next attempt. */
export function retryDelayMs({ status = {} }: Job): number {
  const failures = status.failed ?? 0;
  return failures === 0 ? 0 : Math.min(RETRY_MS.initial * 2 ** Math.min(failures - 1, 10), RETRY_MS.max);
}

function jobCondition(type: string, now: string, why: { reason: string; message: string }): JobCondition {
  return { type, status: 'True', lastProbeTime: now, lastTransitionTime: now, ...why };
}
