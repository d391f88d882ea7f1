/** Validation of cron jobs. Upstream: apis/batch/validation ValidateCronJob. */
import type { Steps } from '../../base/steps.ts';
import { cronScheduleProblem } from '../cron-schedule.ts';
import type { Field } from '../field-error.ts';
import type { CronJob, CronJobSpec, JobSpec } from '../gen/batch-v1.ts';
import { validateChoice, validateNonnegative } from './common.ts';
import { shownSelector } from './internal-form.ts';
import { validateJobSpec } from './job-spec.ts';

/** Names of jobs add eleven characters and must still be valid names of pods. */
const MAX_NAME_LENGTH = 52;

function isKnownTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** Go reads time zones from files, so their names are case-sensitive. */
function isSpelled(name: string): boolean {
  const known = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  return known === name || known.toLowerCase() !== name.toLowerCase();
}

/** Whether a part of a time zone's name may occur in the database. */
function isZonePart(part: string): boolean {
  return /^[A-Za-z._0-9+][-A-Za-z._0-9+]{0,13}$/.test(part) && part !== '.' && part !== '..';
}

function validateTimeZone(name: string | undefined, field: Field): void {
  if (name === undefined) return;
  if (name === '') return field.invalid(name, 'timeZone must be nil or non-empty string');
  if (!name.split('/').every(isZonePart)) return field.invalid(name, `unknown time zone ${name}`);
  const isLocal = /^local$/i.test(name);
  if (isLocal)
    field.invalid(name, 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones');
  // In Go this name is the machine's own zone.
  if (name !== 'Local' && (isLocal || !isKnownTimeZone(name) || !isSpelled(name)))
    field.invalid(name, `unknown time zone ${name}`);
}

/**
 * A schedule that lists every minute, hour and day by name has some 500 characters. Upstream has no limit and parses a schedule
 * of a million numbers repeatedly.
 */
const MAX_SCHEDULE = 4096;

const ZONE_TEXTS = {
  twice: 'cannot use both timeZone field and TZ or CRON_TZ in schedule',
  alone: 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
};

/** `old`: the spec before an update; a time zone that its schedule contains may stay. */
function validateSchedule(spec: CronJobSpec, old: CronJobSpec | undefined, field: Field): void {
  const { schedule = '', timeZone } = spec;
  if (schedule === '') return field.required();
  if (schedule.length > MAX_SCHEDULE) return field.tooLong(MAX_SCHEDULE);
  // Go's parser reads the time zone before the fields.
  const problem = cronScheduleProblem(schedule.replace(/^(?:CRON_)?TZ=\S* /, ''));
  if (problem !== undefined) field.invalid(schedule, problem);
  if (!schedule.includes('TZ')) return;
  const mayHaveZone = (old?.schedule ?? '').includes('TZ');
  if (!mayHaveZone) field.invalid(schedule, ZONE_TEXTS.alone);
  else if (timeZone !== undefined) field.invalid(schedule, ZONE_TEXTS.twice);
}

function* validateTemplate({ jobTemplate }: CronJobSpec, field: Field): Steps<void> {
  const spec = jobTemplate?.spec ?? ({} as JobSpec);
  yield* validateJobSpec(spec, field);
  if (spec.selector !== undefined)
    field.at('selector').invalid(shownSelector(spec.selector), '`selector` will be auto-generated');
  if (spec.manualSelector === true) field.at('manualSelector').notSupported(true, ['nil', 'false']);
}

function* validateSpec(spec: CronJobSpec | undefined, old: CronJobSpec | undefined, field: Field): Steps<void> {
  if (spec === undefined) return field.required();
  validateSchedule(spec, old, field.at('schedule'));
  validateNonnegative(spec.startingDeadlineSeconds, field.at('startingDeadlineSeconds'));
  if (old === undefined || old.timeZone !== spec.timeZone) validateTimeZone(spec.timeZone, field.at('timeZone'));
  validateChoice(spec.concurrencyPolicy, ['Allow', 'Forbid', 'Replace'], field.at('concurrencyPolicy'));
  yield* validateTemplate(spec, field.at('jobTemplate').at('spec'));
  validateNonnegative(spec.successfulJobsHistoryLimit, field.at('successfulJobsHistoryLimit'));
  validateNonnegative(spec.failedJobsHistoryLimit, field.at('failedJobsHistoryLimit'));
}

export function* validateCronJob(cronJob: CronJob, field: Field): Steps<void> {
  yield* validateSpec(cronJob.spec, undefined, field.at('spec'));
  const name = cronJob.metadata.name ?? '';
  if (name.length > MAX_NAME_LENGTH)
    field.at('metadata').at('name').invalid(name, `must be no more than ${MAX_NAME_LENGTH} characters`);
}

export function* validateCronJobUpdate(cronJob: CronJob, old: CronJob, field: Field): Steps<void> {
  yield* validateSpec(cronJob.spec, old.spec, field.at('spec'));
}
