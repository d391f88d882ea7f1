/**
 * Schedules of cron jobs: when the next run is, and which one was missed. Pure. Upstream: cronjob/utils.go over robfig/cron.
 * Differs on purpose: a time of day that a change to summer time skips runs when the clock has jumped, not a day later.
 */
import { Cron } from 'croner';
import { cronScheduleProblem, plainCronSchedule } from '../api/cron-schedule.ts';
import { parseDurationMs } from '../api/duration.ts';
import { formatTime } from '../api/time.ts';

/** A schedule in its time zone. */
export interface Schedule {
  /** The first time after `afterMs`; undefined when there is none (the 31st of February). */
  nextMs(afterMs: number): number | undefined;
}

/** A date as far as croner uses it. */
interface Moment {
  getTime(): number;
}

const EVERY = '@every ';

/** Reads a schedule. Throws what is wrong with it; an unknown time zone shows at {@link checkTimeZone}. */
export function parseSchedule(text: string, timeZone: string | undefined): Schedule {
  if (text.startsWith(EVERY)) {
    const everyMs = parseDurationMs(text.slice(EVERY.length));
    if (everyMs === undefined) throw new Error(`failed to parse duration ${text}`);
    const periodMs = Math.max(1000, Math.floor(everyMs / 1000) * 1000);
    return { nextMs: (afterMs) => Math.floor(afterMs / 1000) * 1000 + periodMs };
  }
  const problem = cronScheduleProblem(text);
  if (problem !== undefined) throw new Error(problem);
  const cron = new Cron(plainCronSchedule(text), { paused: true, timezone: timeZone ?? 'Etc/UTC' });
  // What `nextRun` calls with the machine's time of now, a reference it does not need when it is given a start.
  const pure = cron as unknown as { _nextTarget(after: string, now: Moment): Moment | null };
  return { nextMs: (afterMs) => pure._nextTarget(formatTime(afterMs), { getTime: () => afterMs })?.getTime() };
}

/** Throws for a time zone that is not known. */
export function checkTimeZone(timeZone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
  } catch {
    throw new Error(`unknown time zone ${timeZone}`);
  }
}

/** The times that were due between `earliestMs` and now. */
export interface DueTimes {
  /** The latest due time; undefined when nothing is due yet. */
  readonly latestMs?: number;
  /** More than 100 runs were missed. */
  readonly tooMany: boolean;
}

const MANY = 100;
const TOO_CLOSE = 'time difference between two schedules is less than 1 second';

/** The latest time due after `earliestMs`, up to and including now. Throws for a schedule that never comes due. */
export function mostRecentDue(schedule: Schedule, earliestMs: number, nowMs: number): DueTimes {
  const firstMs = schedule.nextMs(earliestMs);
  if (firstMs === undefined) throw new Error(TOO_CLOSE);
  if (firstMs > nowMs) return { tooMany: false };
  const secondMs = schedule.nextMs(firstMs);
  if (secondMs === undefined || secondMs > nowMs) return { latestMs: firstMs, tooMany: false };
  const periodMs = secondMs - firstMs;
  if (periodMs < 1000) throw new Error(TOO_CLOSE);
  const missed = Math.floor((nowMs - firstMs) / periodMs) + 1;
  // Skips most of a long gap; irregular schedules are searched from a little before its end.
  let latestMs = firstMs;
  const searchMs = firstMs + Math.max(0, missed - MANY) * periodMs;
  for (
    let next = schedule.nextMs(Math.max(firstMs, backFrom(schedule, searchMs, nowMs) ?? firstMs));
    next !== undefined && next <= nowMs;
    next = schedule.nextMs(next)
  )
    latestMs = next;
  return { latestMs, tooMany: missed > MANY };
}

/** When to sync a schedule again: at the first time that is not yet due. */
export function nextDueMs(schedule: Schedule, sinceMs: number, nowMs: number): number | undefined {
  // From the last time, not from now: a short `@every` would never be due for a caller that asks more often.
  return schedule.nextMs(mostRecentDue(schedule, sinceMs, nowMs).latestMs ?? sinceMs);
}

/** A time from which the search still finds a due time before now. */
function backFrom(schedule: Schedule, searchMs: number, nowMs: number): number | undefined {
  const next = schedule.nextMs(searchMs);
  return next !== undefined && next <= nowMs ? searchMs : undefined;
}
