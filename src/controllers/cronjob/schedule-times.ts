/**
 * The times at which a cron job starts jobs. An invalid schedule is recorded in an event. Upstream: cronjob
 * syncCronJob, mostRecentScheduleTime and nextScheduleTimeDuration.
 */
import type { CronJob } from '../../api/gen/batch-v1.ts';
import { secondsToMs } from '../../api/int64.ts';
import { parseTime } from '../../api/time.ts';
import { errorMessage } from '../../base/errors.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import {
  checkTimeZone,
  type DueTimes,
  mostRecentDue,
  nextDueMs,
  parseSchedule,
  type Schedule,
} from '../../component-helpers/cron-schedule.ts';

/** The parsed schedule; undefined when it is invalid. */
export function scheduleOf(cronJob: CronJob, recorder: EventRecorder): Schedule | undefined {
  const { schedule, timeZone } = cronJob.spec;
  const warn = (reason: 'UnknownTimeZone' | 'UnparseableSchedule', message: string): undefined => {
    recorder.event(cronJob, 'Warning', reason, message);
    return undefined;
  };
  try {
    if (timeZone !== undefined) checkTimeZone(timeZone);
  } catch (error) {
    return warn('UnknownTimeZone', `invalid timeZone: ${JSON.stringify(timeZone)}: ${errorMessage(error)}`);
  }
  try {
    return parseSchedule(schedule, timeZone);
  } catch (error) {
    return warn('UnparseableSchedule', `unparseable schedule: ${JSON.stringify(schedule)} : ${errorMessage(error)}`);
  }
}

/** The most recent time at which a job should have started; undefined when the schedule has no times. */
export function mostRecentScheduleTime(
  cronJob: CronJob,
  schedule: Schedule,
  { nowMs, recorder }: { readonly nowMs: number; readonly recorder: EventRecorder },
): DueTimes | undefined {
  const deadline = cronJob.spec.startingDeadlineSeconds;
  const deadlineMs = deadline === undefined ? -Infinity : nowMs - secondsToMs(deadline);
  try {
    const due = mostRecentDue(schedule, Math.max(lastScheduleMs(cronJob, nowMs), deadlineMs), nowMs);
    if (due.tooMany)
      recorder.event(
        cronJob,
        'Warning',
        'TooManyMissedTimes',
        'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
      );
    return due;
  } catch (error) {
    const message = `invalid schedule: ${cronJob.spec.schedule} : ${errorMessage(error)}`;
    recorder.event(cronJob, 'Warning', 'InvalidSchedule', message);
    return undefined;
  }
}

/** The time until the next start; undefined when there is none. */
export function nextScheduleTimeDuration(cronJob: CronJob, schedule: Schedule, nowMs: number): number | undefined {
  const nextMs = nextDueMs(schedule, lastScheduleMs(cronJob, nowMs), nowMs);
  return nextMs === undefined ? undefined : nextMs - nowMs;
}

/** The time of the last start; before the first one that of the creation. */
function lastScheduleMs({ status, metadata }: CronJob, nowMs: number): number {
  const lastMs = parseTime(status?.lastScheduleTime ?? metadata.creationTimestamp);
  return Number.isNaN(lastMs) ? nowMs : lastMs;
}
