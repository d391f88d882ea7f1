/**
 * Starts jobs on schedule. Upstream: pkg/controller/cronjob (v2).
 *
 * Watches: CronJobs and Jobs. Writes alone: CronJob status, creation and deletion of the jobs it controls.
 */
import { finishedCondition } from '../../component-helpers/jobs.ts';
import { secondsToMs } from '../../api/int64.ts';
import { CronJobs, Jobs } from '../../api/gen/resources.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import { formatTime, parseTime } from '../../api/time.ts';
import type { CronJob, CronJobStatus, Job } from '../../api/gen/batch-v1.ts';
import type { ObjectReference } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { ResourceClient } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { Informer } from '../../client/informer.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import { equalStatus } from '../../component-helpers/wire-equality.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Histogram } from '../../platform/metrics.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import { formatRfc1123, jobFor, jobName, jobsBeyondHistory, referenceTo } from './cron-jobs.ts';
import { JobControl } from './job-control.ts';
import { parseSchedule, type Schedule } from '../../component-helpers/cron-schedule.ts';
import { mostRecentScheduleTime, nextScheduleTimeDuration, scheduleOf } from './schedule-times.ts';

const ACCOUNT = 'cronjob-controller';
const WORKERS = 5;
const JOBS_BY_CRON_JOB = 'cronjob-uid';
/** Added to the delay until the next start, so that the clock has passed it. Upstream: nextScheduleDelta. */
const AFTER_SCHEDULE_MS = 100;

export function createCronJobController(deps: ControllerDeps): Controller {
  const { clock } = deps.platform;
  const client = deps.clientFor(ACCOUNT);
  const recorder = deps.recorderFor(ACCOUNT);
  const cronJobs = deps.informers.informer(CronJobs);
  const jobs = deps.informers.informer(Jobs);
  jobs.addIndex(JOBS_BY_CRON_JOB, (job) => [controllerOf(job)?.uid ?? '']);
  const creationSkew = deps.platform.metrics.histogram({
    name: 'cronjob_controller_job_creation_skew_duration_seconds',
    help: 'Time between when a job was scheduled to run and when it was created.',
    buckets: Array.from({ length: 10 }, (_, i) => 2 ** i),
  });
  const requeueAtNextTime = (cronJob: CronJob, schedule: Schedule): void => {
    const durationMs = nextScheduleTimeDuration(cronJob, schedule, clock.nowMs());
    if (durationMs !== undefined) loop.queue.addAfter(keyOfObject(cronJob), durationMs + AFTER_SCHEDULE_MS);
  };
  const controller = new CronJobController({
    ...{ clock, recorder, cronJobs, jobs, creationSkew, requeueAtNextTime },
    client: client.resource(CronJobs),
    jobControl: new JobControl(client, recorder),
  });
  const loop = createKeyedLoop(deps, {
    name: ACCOUNT,
    queueName: 'cronjob',
    workers: WORKERS,
    informers: informerList(cronJobs, jobs),
    sync: (key, signal) => controller.syncCronJob(key, signal),
  });
  addHandlers({ cronJobs, jobs, requeueAtNextTime, enqueue: (key) => loop.queue.add(key) });
  return loop;
}

interface Handled {
  readonly cronJobs: Informer<CronJob>;
  readonly jobs: Informer<Job>;
  readonly requeueAtNextTime: (cronJob: CronJob, schedule: Schedule) => void;
  readonly enqueue: (key: string) => void;
}

function addHandlers({ cronJobs, jobs, requeueAtNextTime, enqueue }: Handled): void {
  const enqueueCronJob = (cronJob: CronJob): void => enqueue(keyOfObject(cronJob));
  /** A changed schedule applies from now on: its earlier times are not made up for. */
  const reschedule = (cronJob: CronJob): void => {
    const { schedule, timeZone } = cronJob.spec;
    try {
      requeueAtNextTime(cronJob, parseSchedule(schedule, timeZone));
    } catch {
      // The sync reports an invalid schedule.
      enqueueCronJob(cronJob);
    }
  };
  cronJobs.addHandler({
    onAdd: enqueueCronJob,
    onUpdate({ spec: old }, cronJob) {
      const { schedule, timeZone } = cronJob.spec;
      if (old.schedule === schedule && old.timeZone === timeZone) enqueueCronJob(cronJob);
      else reschedule(cronJob);
    },
    onDelete: enqueueCronJob,
  });
  const enqueueOwner = (job: Stored<Job>): void => {
    const owner = controllerOf(job);
    if (owner?.kind === CronJobs.kind) enqueue(`${job.metadata.namespace}/${owner.name}`);
  };
  jobs.addHandler({ onAdd: enqueueOwner, onUpdate: (_, job) => enqueueOwner(job), onDelete: enqueueOwner });
}

interface CronJobControllerDeps extends Pick<Handled, 'cronJobs' | 'jobs' | 'requeueAtNextTime'> {
  readonly client: ResourceClient<CronJob>;
  readonly jobControl: JobControl;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly creationSkew: Histogram;
}

/** Syncs cron jobs. Upstream: ControllerV2. */
class CronJobController {
  readonly #deps: CronJobControllerDeps;

  constructor(deps: CronJobControllerDeps) {
    this.#deps = deps;
  }

  async syncCronJob(key: string, signal: AbortSignal): Promise<void> {
    const { cronJobs, jobs, client } = this.#deps;
    const cronJob = cronJobs.get(parseKey(key));
    if (cronJob === undefined) return;
    const owned = jobs.byIndex(JOBS_BY_CRON_JOB, cronJob.metadata.uid);
    await this.#cleanupFinishedJobs(cronJob, owned, signal);
    const status = await this.#processActiveJobs(cronJob, owned, signal);
    let failure: unknown;
    if (cronJob.metadata.deletionTimestamp === undefined && cronJob.spec.suspend !== true) {
      failure = await this.#startDueJob(cronJob, status, signal).then(
        () => undefined,
        (error: unknown) => error,
      );
    }
    if (!equalStatus(status, cronJob.status)) await client.updateStatus({ ...cronJob, status }, { signal });
    if (failure !== undefined) throw failure;
  }

  /** A deletion that fails is recorded in an event; the sync continues. */
  async #cleanupFinishedJobs(cronJob: CronJob, owned: readonly Stored<Job>[], signal: AbortSignal): Promise<void> {
    for (const job of jobsBeyondHistory(cronJob, owned)) await this.#deps.jobControl.delete(cronJob, job, signal);
  }

  /** The status with the active jobs that exist and are not finished. Upstream: the first half of syncCronJob. */
  async #processActiveJobs(
    cronJob: Stored<CronJob>,
    owned: readonly Stored<Job>[],
    signal: AbortSignal,
  ): Promise<CronJobStatus> {
    const { recorder, jobControl } = this.#deps;
    const status: CronJobStatus = { ...cronJob.status };
    const before = status.active ?? [];
    const activeUids = new Set(before.map(({ uid }) => uid));
    for (const job of owned) {
      const { name, uid } = job.metadata;
      const isActive = activeUids.has(uid);
      const ended = finishedCondition(job)?.type;
      if (!isActive && ended === undefined && !(await this.#isInStoredStatus(cronJob, uid, signal)))
        recorder.event(
          cronJob,
          'Warning',
          'UnexpectedJob',
          `Saw a job that the controller did not create or forgot: ${name}`,
        );
      if (isActive && ended !== undefined) {
        activeUids.delete(uid);
        recorder.event(cronJob, 'Normal', 'SawCompletedJob', `Saw completed job: ${name}, condition: ${ended}`);
      }
      const completed = job.status?.completionTime;
      if (ended === 'Complete' && completed !== undefined && completed > (status.lastSuccessfulTime ?? ''))
        status.lastSuccessfulTime = completed;
    }
    const ownedUids = new Set(owned.map(({ metadata }) => metadata.uid));
    const active: ObjectReference[] = [];
    for (const reference of before.filter(({ uid }) => activeUids.has(uid))) {
      if (ownedUids.has(reference.uid ?? '') || (await jobControl.exists(cronJob, reference.name ?? '', signal)))
        active.push(reference);
      else recorder.event(cronJob, 'Normal', 'MissingJob', `Active job went missing: ${reference.name}`);
    }
    return { ...status, active };
  }

  /** Reads the server, since the cache may lack the status that was written when the job was created. */
  async #isInStoredStatus(cronJob: CronJob, uid: string, signal: AbortSignal): Promise<boolean> {
    const live = await this.#deps.client.get(parseKey(keyOfObject(cronJob)), { signal }).catch(ignoreNotFound);
    return live?.status?.active?.some((reference) => reference.uid === uid) === true;
  }

  /** Starts the job that is due, changing `status`, and requeues the cron job for its next time. */
  async #startDueJob(cronJob: Stored<CronJob>, status: CronJobStatus, signal: AbortSignal): Promise<void> {
    const { recorder, clock, requeueAtNextTime } = this.#deps;
    const schedule = scheduleOf(cronJob, recorder);
    if (schedule === undefined) return;
    const due = mostRecentScheduleTime(cronJob, schedule, { nowMs: clock.nowMs(), recorder });
    if (due === undefined) return;
    if (due.latestMs !== undefined) await this.#startJob(cronJob, { status, scheduledMs: due.latestMs, signal });
    requeueAtNextTime(cronJob, schedule);
  }

  async #startJob(
    cronJob: Stored<CronJob>,
    run: { readonly status: CronJobStatus; readonly scheduledMs: number; readonly signal: AbortSignal },
  ): Promise<void> {
    const { status, scheduledMs, signal } = run;
    if (this.#isTooLate(cronJob, scheduledMs)) return;
    const name = jobName(cronJob, scheduledMs);
    const active = status.active ?? [];
    if (active.some((reference) => reference.name === name) || parseTime(status.lastScheduleTime) === scheduledMs)
      return;
    if (this.#isForbidden(cronJob, active.length)) return;
    if (cronJob.spec.concurrencyPolicy === 'Replace') {
      for (const reference of active) {
        await this.#deps.jobControl.replace(cronJob, reference.name ?? '', signal);
        status.active = (status.active ?? []).filter((other) => other !== reference);
      }
    }
    const created = await this.#deps.jobControl.create(cronJob, jobFor(cronJob, scheduledMs), signal);
    if (created === undefined) return;
    const createdMs = parseTime(created.metadata.creationTimestamp);
    if (createdMs >= scheduledMs) this.#deps.creationSkew.observe((createdMs - scheduledMs) / 1000);
    status.active = [...(status.active ?? []), referenceTo(created)];
    status.lastScheduleTime = formatTime(scheduledMs);
  }

  /** Whether the starting deadline has passed; records an event if so. */
  #isTooLate(cronJob: CronJob, scheduledMs: number): boolean {
    const { startingDeadlineSeconds } = cronJob.spec;
    if (startingDeadlineSeconds === undefined) return false;
    if (scheduledMs + secondsToMs(startingDeadlineSeconds) >= this.#deps.clock.nowMs()) return false;
    const message = `Missed scheduled time to start a job: ${formatRfc1123(scheduledMs)}`;
    this.#deps.recorder.event(cronJob, 'Warning', 'MissSchedule', message);
    return true;
  }

  /** Whether the concurrency policy forbids another job now; records an event if so. */
  #isForbidden(cronJob: CronJob, activeCount: number): boolean {
    if (cronJob.spec.concurrencyPolicy !== 'Forbid' || activeCount === 0) return false;
    this.#deps.recorder.event(
      cronJob,
      'Normal',
      'JobAlreadyActive',
      'Not starting job because prior execution is running and concurrency policy is Forbid',
    );
    return true;
  }
}
