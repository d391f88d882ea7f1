/**
 * Starts jobs on schedule. Upstream: pkg/controller/cronjob (v2).
 *
 * Watches: CronJobs and Jobs. Writes alone: CronJob status, creation and deletion of the jobs it controls.
 */
import { secondsToMs } from '../../api/int64.ts';
import { CronJobs, Jobs } from '../../api/gen/resources.ts';
import { isReason, ignoreNotFound } from '../../api/status-error.ts';
import { formatTime, parseTime } from '../../api/time.ts';
import type { CronJob, CronJobStatus, Job } from '../../api/gen/batch-v1.ts';
import { errorMessage } from '../../base/errors.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import { equalStatus } from '../../component-helpers/wire-equality.ts';
import {
  createKeyedLoop,
  informerList,
  isNamespaceTerminating,
  type Controller,
  type ControllerDeps,
} from '../controller.ts';
import { finishedAs, formatRfc1123, jobFor, jobName, jobsBeyondHistory, referenceTo } from './cron-jobs.ts';
import { checkTimeZone, mostRecentDue, nextDueMs, parseSchedule, type Due, type Schedule } from './schedule.ts';

const ACCOUNT = 'cronjob-controller';
const WORKERS = 5;
const JOBS_BY_CRON_JOB = 'cronjob-uid';
/** So that the clock has passed the time for sure. */
const AFTER_SCHEDULE_MS = 100;

export function createCronJobController(deps: ControllerDeps): Controller {
  const { clock } = deps.platform;
  const client = deps.clientFor(ACCOUNT);
  const recorder = deps.recorderFor(ACCOUNT);
  const skew = deps.platform.metrics.histogram({
    name: 'cronjob_controller_job_creation_skew_duration_seconds',
    help: 'Time between when a job was scheduled to run and when it was created.',
    buckets: Array.from({ length: 10 }, (_, i) => 2 ** i),
  });
  const cronJobs = deps.informers.informer(CronJobs);
  const jobs = deps.informers.informer(Jobs);
  const jobClient = client.resource(Jobs);
  jobs.addIndex(JOBS_BY_CRON_JOB, (job) => [controllerOf(job)?.uid ?? '']);

  const loop = createKeyedLoop(deps, {
    name: ACCOUNT,
    queueName: 'cronjob',
    workers: WORKERS,
    informers: informerList(cronJobs, jobs),
    sync,
  });

  async function sync(key: string, signal: AbortSignal): Promise<void> {
    const cronJob = cronJobs.get(parseKey(key));
    if (cronJob === undefined) return;
    const owned = jobs.byIndex(JOBS_BY_CRON_JOB, cronJob.metadata.uid ?? '');
    // One that cannot be deleted is told of, and stops nothing else.
    for (const job of jobsBeyondHistory(cronJob, owned)) await deleteJob(cronJob, job, signal);
    const status = await followJobs(cronJob, owned, signal);
    let failure: unknown;
    if (cronJob.metadata.deletionTimestamp === undefined && cronJob.spec.suspend !== true) {
      failure = await runDue(cronJob, status, signal).then(
        () => undefined,
        (error: unknown) => error,
      );
    }
    if (!equalStatus(status, cronJob.status))
      await client.resource(CronJobs).updateStatus({ ...cronJob, status }, { signal });
    if (failure !== undefined) throw failure;
  }

  /** The status after looking at the jobs there are. */
  async function followJobs(cronJob: CronJob, owned: readonly Job[], signal: AbortSignal): Promise<CronJobStatus> {
    const status: CronJobStatus = { ...cronJob.status };
    let active = status.active ?? [];
    for (const job of owned) {
      const { name = '', uid = '' } = job.metadata;
      const listed = active.some((reference) => reference.uid === uid);
      const ended = finishedAs(job);
      if (!listed && ended === undefined && !(await isListed(cronJob, uid, signal)))
        recorder.event(
          cronJob,
          'Warning',
          'UnexpectedJob',
          `Saw a job that the controller did not create or forgot: ${name}`,
        );
      if (listed && ended !== undefined) {
        active = active.filter((reference) => reference.uid !== uid);
        recorder.event(cronJob, 'Normal', 'SawCompletedJob', `Saw completed job: ${name}, condition: ${ended}`);
      }
      const completed = job.status?.completionTime;
      if (ended === 'Complete' && completed !== undefined && completed > (status.lastSuccessfulTime ?? ''))
        status.lastSuccessfulTime = completed;
    }
    for (const reference of active) {
      if (
        owned.some((job) => job.metadata.uid === reference.uid) ||
        (await exists(cronJob, reference.name ?? '', signal))
      )
        continue;
      recorder.event(cronJob, 'Normal', 'MissingJob', `Active job went missing: ${reference.name}`);
      active = active.filter((other) => other !== reference);
    }
    return { ...status, active };
  }

  /** Asks the server: the cache may be behind the status that was written when the job was made. */
  async function isListed(cronJob: CronJob, uid: string, signal: AbortSignal): Promise<boolean> {
    const live = await client
      .resource(CronJobs)
      .get(parseKey(keyOfObject(cronJob)), { signal })
      .catch(ignoreNotFound);
    return live?.status?.active?.some((reference) => reference.uid === uid) === true;
  }

  /** Asks the server: the cache may be behind what was just created. */
  async function exists(cronJob: CronJob, name: string, signal: AbortSignal): Promise<boolean> {
    try {
      await jobClient.get({ namespace: cronJob.metadata.namespace ?? '', name }, { signal });
      return true;
    } catch (error) {
      if (isReason(error, 'NotFound')) return false;
      throw error;
    }
  }

  /** Starts what is due, changing `status`, and looks again at the next time. */
  async function runDue(cronJob: CronJob, status: CronJobStatus, signal: AbortSignal): Promise<void> {
    const schedule = scheduleOf(cronJob);
    if (schedule === undefined) return;
    const due = dueOf(cronJob, schedule);
    if (due === undefined) return;
    if (due.latestMs !== undefined) await start(cronJob, { status, scheduledMs: due.latestMs, signal });
    lookAgain(cronJob, schedule);
  }

  /** At the next time. */
  function lookAgain(cronJob: CronJob, schedule: Schedule): void {
    const nowMs = clock.nowMs();
    const nextMs = nextDueMs(schedule, followedSinceMs(cronJob), nowMs);
    if (nextMs !== undefined) loop.queue.addAfter(keyOfObject(cronJob), nextMs - nowMs + AFTER_SCHEDULE_MS);
  }

  function followedSinceMs(cronJob: CronJob): number {
    const sinceMs = parseTime(cronJob.status?.lastScheduleTime ?? cronJob.metadata.creationTimestamp);
    return Number.isNaN(sinceMs) ? clock.nowMs() : sinceMs;
  }

  function scheduleOf(cronJob: CronJob): Schedule | undefined {
    const { schedule, timeZone } = cronJob.spec;
    try {
      if (timeZone !== undefined) checkTimeZone(timeZone);
    } catch (error) {
      recorder.event(
        cronJob,
        'Warning',
        'UnknownTimeZone',
        `invalid timeZone: ${JSON.stringify(timeZone)}: ${errorMessage(error)}`,
      );
      return undefined;
    }
    try {
      return parseSchedule(schedule, timeZone);
    } catch (error) {
      recorder.event(
        cronJob,
        'Warning',
        'UnparseableSchedule',
        `unparseable schedule: ${JSON.stringify(schedule)} : ${errorMessage(error)}`,
      );
      return undefined;
    }
  }

  function dueOf(cronJob: CronJob, schedule: Schedule): Due | undefined {
    const nowMs = clock.nowMs();
    const deadline = cronJob.spec.startingDeadlineSeconds;
    const tooLateMs = deadline === undefined ? -Infinity : nowMs - secondsToMs(deadline);
    const earliestMs = Math.max(followedSinceMs(cronJob), tooLateMs);
    try {
      const due = mostRecentDue(schedule, earliestMs, nowMs);
      if (due.tooMany)
        recorder.event(
          cronJob,
          'Warning',
          'TooManyMissedTimes',
          'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
        );
      return due;
    } catch (error) {
      recorder.event(
        cronJob,
        'Warning',
        'InvalidSchedule',
        `invalid schedule: ${cronJob.spec.schedule} : ${errorMessage(error)}`,
      );
      return undefined;
    }
  }

  async function start(
    cronJob: CronJob,
    run: { readonly status: CronJobStatus; readonly scheduledMs: number; readonly signal: AbortSignal },
  ): Promise<void> {
    const { status, scheduledMs, signal } = run;
    const { concurrencyPolicy, startingDeadlineSeconds } = cronJob.spec;
    const name = jobName(cronJob, scheduledMs);
    if (startingDeadlineSeconds !== undefined && scheduledMs + secondsToMs(startingDeadlineSeconds) < clock.nowMs()) {
      recorder.event(
        cronJob,
        'Warning',
        'MissSchedule',
        `Missed scheduled time to start a job: ${formatRfc1123(scheduledMs)}`,
      );
      return;
    }
    const active = status.active ?? [];
    if (active.some((reference) => reference.name === name) || parseTime(status.lastScheduleTime) === scheduledMs)
      return;
    if (concurrencyPolicy === 'Forbid' && active.length > 0) {
      recorder.event(
        cronJob,
        'Normal',
        'JobAlreadyActive',
        'Not starting job because prior execution is running and concurrency policy is Forbid',
      );
      return;
    }
    if (concurrencyPolicy === 'Replace') {
      for (const reference of active) {
        await replaceJob(cronJob, reference.name ?? '', signal);
        status.active = (status.active ?? []).filter((other) => other !== reference);
      }
    }
    const created = await createJob(cronJob, jobFor(cronJob, scheduledMs), signal);
    if (created === undefined) return;
    const createdMs = parseTime(created.metadata.creationTimestamp);
    if (createdMs >= scheduledMs) skew.observe((createdMs - scheduledMs) / 1000);
    status.active = [...(status.active ?? []), referenceTo(created)];
    status.lastScheduleTime = formatTime(scheduledMs);
  }

  /** Undefined when the namespace is going away, or the job of this time ran and ended already. */
  async function createJob(cronJob: CronJob, job: Job, signal: AbortSignal): Promise<Job | undefined> {
    try {
      const created = await jobClient.create(job, { signal });
      recorder.event(cronJob, 'Normal', 'SuccessfulCreate', `Created job ${created.metadata.name}`);
      return created;
    } catch (error) {
      if (isNamespaceTerminating(error)) return undefined;
      if (!isReason(error, 'AlreadyExists')) {
        recorder.event(cronJob, 'Warning', 'FailedCreate', `Error creating job: ${errorMessage(error)}`);
        throw error;
      }
      // Created before, and the status was not written: take it up.
      const existing = await jobClient.get(
        { namespace: job.metadata.namespace ?? '', name: job.metadata.name ?? '' },
        { signal },
      );
      return controllerOf(existing)?.uid === cronJob.metadata.uid ? existing : undefined;
    }
  }

  /** Rejects when the job is still there afterwards. */
  async function replaceJob(cronJob: CronJob, name: string, signal: AbortSignal): Promise<void> {
    const { namespace = '' } = cronJob.metadata;
    let job: Job | undefined;
    try {
      job = await jobClient.get({ namespace, name }, { signal }).catch(ignoreNotFound);
    } catch (error) {
      recorder.event(cronJob, 'Warning', 'FailedGet', `Get job: ${errorMessage(error)}`);
      throw error;
    }
    if (job !== undefined && !(await deleteJob(cronJob, job, signal)))
      throw new Error(`could not replace job ${namespace}/${name}`);
  }

  /** Resolves to whether it is gone, or going. */
  async function deleteJob(cronJob: CronJob, job: Job, signal: AbortSignal): Promise<boolean> {
    const { namespace = '', name = '' } = job.metadata;
    try {
      await jobClient.delete({ namespace, name }, { propagationPolicy: 'Background', signal });
      recorder.event(cronJob, 'Normal', 'SuccessfulDelete', `Deleted job ${name}`);
    } catch (error) {
      if (signal.aborted) throw error;
      if (isReason(error, 'NotFound')) return true;
      recorder.event(cronJob, 'Warning', 'FailedDelete', `Deleted job: ${errorMessage(error)}`);
      return false;
    }
    return true;
  }

  const enqueue = (cronJob: CronJob): void => loop.queue.add(keyOfObject(cronJob));
  /** A new schedule is for the times to come: what it would have started before now is not made up for. */
  const reschedule = (cronJob: CronJob): void => {
    const { schedule, timeZone } = cronJob.spec;
    try {
      lookAgain(cronJob, parseSchedule(schedule, timeZone));
    } catch {
      // The sync says what is wrong with it.
      enqueue(cronJob);
    }
  };
  cronJobs.addHandler({
    onAdd: enqueue,
    onUpdate({ spec: old }, cronJob) {
      const { schedule, timeZone } = cronJob.spec;
      if (old.schedule === schedule && old.timeZone === timeZone) enqueue(cronJob);
      else reschedule(cronJob);
    },
    onDelete: enqueue,
  });
  const enqueueOwner = (job: Job): void => {
    const owner = controllerOf(job);
    if (owner?.kind === CronJobs.kind) loop.queue.add(`${job.metadata.namespace ?? ''}/${owner.name}`);
  };
  jobs.addHandler({ onAdd: enqueueOwner, onUpdate: (_, job) => enqueueOwner(job), onDelete: enqueueOwner });
  return loop;
}
