/** Names and content of a cron job's jobs, and the old ones to delete. Pure. Upstream: cronjob/utils.go. */
import { finishedCondition } from '../../component-helpers/jobs.ts';
import { CronJobs, Jobs } from '../../api/gen/resources.ts';
import { apiVersionOf } from '../../api/resource-info.ts';
import { formatTime } from '../../api/time.ts';
import type { CronJob, Job } from '../../api/gen/batch-v1.ts';
import type { ObjectReference } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { newControllerReference } from '../../component-helpers/owner-references.ts';

const SCHEDULED = 'batch.kubernetes.io/cronjob-scheduled-timestamp';

/** Name of the job of a scheduled time. Every server computes the same, so no run is started twice. */
export function jobName(cronJob: Stored<CronJob>, scheduledMs: number): string {
  return `${cronJob.metadata.name}-${Math.floor(scheduledMs / 60_000)}`;
}

export function jobFor(cronJob: Stored<CronJob>, scheduledMs: number): Job {
  const { metadata = {}, spec } = cronJob.spec.jobTemplate;
  return {
    apiVersion: apiVersionOf(Jobs),
    kind: Jobs.kind,
    metadata: {
      namespace: cronJob.metadata.namespace,
      name: jobName(cronJob, scheduledMs),
      labels: { ...metadata.labels },
      annotations: { ...metadata.annotations, [SCHEDULED]: zonedTime(scheduledMs, cronJob.spec.timeZone) },
      ownerReferences: [newControllerReference(cronJob, CronJobs)],
    },
    ...(spec === undefined ? {} : { spec }),
  };
}

/** RFC 3339 in the zone: `2026-03-08T02:00:00-05:00`. */
function zonedTime(ms: number, timeZone: string | undefined): string {
  if (timeZone === undefined) return formatTime(ms);
  const options = {
    timeZone,
    hourCycle: 'h23',
    timeZoneName: 'longOffset',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  } as const;
  const parts = Object.fromEntries(
    new Intl.DateTimeFormat('en', options).formatToParts(ms).map(({ type, value }) => [type, value]),
  );
  const offset = parts['timeZoneName'] === 'GMT' ? 'Z' : (parts['timeZoneName'] ?? '').replace('GMT', '');
  return `${parts['year']}-${parts['month']}-${parts['day']}T${parts['hour']}:${parts['minute']}:${parts['second']}${offset}`;
}

/** The reference in the list of active jobs. */
export function referenceTo(job: Stored<Job>): ObjectReference {
  const { namespace, name, uid, resourceVersion } = job.metadata;
  return { apiVersion: apiVersionOf(Jobs), kind: Jobs.kind, namespace, name, uid, resourceVersion };
}

/** Finished jobs beyond the history limits, oldest first. */
export function jobsBeyondHistory(cronJob: CronJob, jobs: readonly Stored<Job>[]): Stored<Job>[] {
  const { successfulJobsHistoryLimit: good, failedJobsHistoryLimit: bad } = cronJob.spec;
  const beyond = (kind: string, limit: number | undefined): Stored<Job>[] => {
    if (limit === undefined) return [];
    const ended = jobs.filter((job) => finishedCondition(job)?.type === kind);
    const oldestFirst = ended.toSorted(byStart);
    return oldestFirst.slice(0, Math.max(0, ended.length - limit));
  };
  return [...beyond('Complete', good), ...beyond('Failed', bad)];
}

/** Sorts by start time; jobs that never started come last. */
function byStart(a: Stored<Job>, b: Stored<Job>): number {
  const [first, second] = [a, b].map((job) => job.status?.startTime ?? '~');
  if (first !== second) return first! < second! ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

const DAYS = ['Thu', 'Fri', 'Sat', 'Sun', 'Mon', 'Tue', 'Wed'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `Thu, 01 Jan 2026 00:00:00 +0000`, as Go's RFC1123Z in UTC. */
export function formatRfc1123(ms: number): string {
  const [date = '', time = ''] = formatTime(ms).split('T');
  const [year, month, day] = date.split('-');
  return `${DAYS[Math.floor(ms / 86_400_000) % 7]}, ${day} ${MONTHS[Number(month) - 1]} ${year} ${time.slice(0, 8)} +0000`;
}
