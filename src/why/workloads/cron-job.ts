/** Explains why a cron job does not start jobs. */
import { CronJobs, Jobs } from '../../api/gen/resources.ts';
import type { CronJob, Job } from '../../api/gen/batch-v1.ts';
import { formatTime, parseTime } from '../../api/time.ts';
import { parseSchedule, type Schedule } from '../../component-helpers/cron-schedule.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import { conditionOf } from '../conditions.ts';
import { timeOfEvent, type Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { inNamespace, nameOf, nameOfObject } from '../object-name.ts';

/** Cures of the controller's events by reason. */
const CURES: Readonly<Record<string, string>> = {
  UnknownTimeZone: 'name a time zone of the tz database in spec.timeZone',
  UnparseableSchedule: 'write spec.schedule as five fields: minute, hour, day of month, month, day of week',
  TooManyMissedTimes: 'set startingDeadlineSeconds, or see why the controller manager was away',
  MissSchedule: 'raise startingDeadlineSeconds, or see why the controller manager was late',
  FailedCreate: 'mend what the message names in the job template',
};

export async function explainCronJob(cronJob: CronJob, evidence: Evidence): Promise<Diagnosis> {
  const { lastScheduleTime, lastSuccessfulTime, active = [] } = cronJob.status ?? {};
  const last = lastScheduleTime == null ? 'has never started a job' : `started its last job at ${lastScheduleTime}`;
  const success = lastSuccessfulTime == null ? '' : `, its last success was at ${lastSuccessfulTime}`;
  const running = active.length === 0 ? '' : `, ${active.length} running`;
  const held = [
    ...suspendedCauses(cronJob),
    ...neverDueCauses(cronJob, evidence.nowMs),
    ...(await forbiddenCauses(cronJob, evidence)),
  ];
  const failed = [...held, ...(await eventCauses(cronJob, evidence))];
  const causes = [
    ...(failed.length > 0 ? failed : missedCauses(cronJob, evidence.nowMs)),
    ...(await lastJobCauses(cronJob, evidence)),
  ];
  return { state: causes.length === 0 ? 'Fine' : 'Trouble', summary: `${last}${success}${running}`, causes };
}

function suspendedCauses(cronJob: CronJob): readonly Cause[] {
  if (cronJob.spec?.suspend !== true) return [];
  const object = nameOfObject(CronJobs, cronJob);
  const command = `kubectl patch cronjob ${object.name}${inNamespace(object)} -p '{"spec":{"suspend":false}}'`;
  return [cause({ code: 'Suspended', object, message: 'it is suspended', cure: { text: 'resume it', command } })];
}

/** With the policy Forbid, a job that is still running prevents the next start. */
async function forbiddenCauses(cronJob: CronJob, evidence: Evidence): Promise<readonly Cause[]> {
  if (cronJob.spec?.concurrencyPolicy !== 'Forbid' || (dueMs(cronJob) ?? Infinity) > evidence.nowMs) return [];
  const { namespace = '' } = cronJob.metadata;
  const causes: Cause[] = [];
  for (const { name = '' } of cronJob.status?.active ?? []) {
    const { object: job } = await evidence.get(Jobs, { namespace, name });
    if (job === undefined) continue;
    causes.push(
      cause({
        code: 'JobStillRuns',
        object: nameOf(Jobs, { namespace, name }),
        message: `job ${name} still runs, and concurrencyPolicy Forbid lets no second one start`,
        ...(job.status?.startTime == null ? {} : { since: job.status.startTime }),
        cure: { text: 'end the job, give it activeDeadlineSeconds, or use concurrencyPolicy Replace' },
        because: await evidence.causesOf(Jobs, job),
      }),
    );
  }
  return causes;
}

/** Warnings about starts after the last successful one. */
async function eventCauses(cronJob: CronJob, evidence: Evidence): Promise<readonly Cause[]> {
  const lastMs = parseTime(cronJob.status?.lastScheduleTime) || 0;
  const event = (await evidence.events(cronJob)).find(
    (one) => Object.hasOwn(CURES, one.reason ?? '') && timeOfEvent(one) > lastMs,
  );
  if (event === undefined) return [];
  const { reason = '', message = '' } = event;
  return [
    cause({
      code: reason,
      object: nameOfObject(CronJobs, cronJob),
      message: `a start did not come about (${reason})`,
      since: formatTime(timeOfEvent(event)),
      facts: message === '' ? [] : [message],
      cure: { text: CURES[reason]! },
    }),
  ];
}

/** The maximum delay of a start after its scheduled time. */
const MAX_USUAL_MS = 30_000;

/** A scheduled time after the last start that passed without a start. */
function missedCauses(cronJob: CronJob, nowMs: number): readonly Cause[] {
  const { startingDeadlineSeconds } = cronJob.spec ?? {};
  const atMs = dueMs(cronJob);
  if (atMs === undefined || nowMs - atMs < MAX_USUAL_MS) return [];
  const due = formatTime(atMs);
  const isLimited = startingDeadlineSeconds !== undefined;
  return [
    cause({
      code: 'StartMissed',
      object: nameOfObject(CronJobs, cronJob),
      message: `the start that was due at ${due} has not come about`,
      since: due,
      facts: isLimited ? [`startingDeadlineSeconds is ${startingDeadlineSeconds}: a later start is left out`] : [],
      cure: {
        text: isLimited
          ? 'raise startingDeadlineSeconds; it was suspended then, or the controller manager was away or late'
          : 'see whether the controller manager runs, and its clock',
      },
    }),
  ];
}

/** The first scheduled time after its last start. Undefined when the schedule is invalid, or has no further time. */
function dueMs(cronJob: CronJob): number | undefined {
  const sinceMs = parseTime(cronJob.status?.lastScheduleTime ?? cronJob.metadata.creationTimestamp);
  return Number.isNaN(sinceMs) ? undefined : scheduleOf(cronJob)?.nextMs(sinceMs);
}

function scheduleOf({ spec }: CronJob): Schedule | undefined {
  try {
    return parseSchedule(spec?.schedule ?? '', spec?.timeZone);
  } catch {
    return undefined;
  }
}

/** A schedule for a date that does not exist, such as the 31st of February. */
function neverDueCauses(cronJob: CronJob, nowMs: number): readonly Cause[] {
  const schedule = scheduleOf(cronJob);
  if (schedule === undefined || schedule.nextMs(nowMs) !== undefined) return [];
  const object = nameOfObject(CronJobs, cronJob);
  return [
    cause({
      code: 'NeverDue',
      object,
      message: `its schedule ${cronJob.spec?.schedule} never comes due`,
      cure: {
        text: 'name a day that the month has in spec.schedule',
        command: `kubectl edit cronjob ${object.name}${inNamespace(object)}`,
      },
    }),
  ];
}

/** The newest of its jobs, when that has failed. */
async function lastJobCauses(cronJob: CronJob, evidence: Evidence): Promise<readonly Cause[]> {
  const { namespace = '', uid = '' } = cronJob.metadata;
  const jobs = (await evidence.list(Jobs, { namespace })).filter((job) => controllerOf(job)?.uid === uid);
  const created = (job: Job): number => parseTime(job.metadata.creationTimestamp) || 0;
  const last = jobs.toSorted((a, b) => created(b) - created(a))[0];
  if (last === undefined || conditionOf(last, 'Failed')?.status !== 'True') return [];
  const object = nameOfObject(Jobs, last);
  return [
    cause({
      code: 'JobFailed',
      object,
      message: `its last job ${object.name} has failed`,
      since: conditionOf(last, 'Failed')?.lastTransitionTime ?? undefined,
      because: await evidence.causesOf(Jobs, last),
    }),
  ];
}
