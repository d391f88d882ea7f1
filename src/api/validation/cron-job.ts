/** Cron jobs. Upstream: apis/batch/validation ValidateCronJob. */
import { cronScheduleProblem } from '../cron-schedule.ts';
import type { Field } from '../field-error.ts';
import type { CronJob } from '../gen/batch-v1.ts';
import { validateChoice, validateNonnegative } from './common.ts';
import { validateJobSpec } from './job.ts';

/** Names get a suffix of eleven characters and still must be names of pods. */
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

function validateTimeZone(name: string | undefined, field: Field): void {
  if (name === undefined) return;
  if (name === '') field.invalid(name, 'timeZone must be nil or non-empty string');
  else if (/^local$/i.test(name))
    field.invalid(name, 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones');
  else if (!isKnownTimeZone(name)) field.invalid(name, `unknown time zone ${name}`);
}

/** Every minute, hour and day by name takes some 500. Upstream has no limit, and reads each schedule of a million numbers again and again. */
const maxSchedule = 4096;

function validateSpec(cronJob: CronJob, field: Field): void {
  const spec = cronJob.spec;
  if (spec === undefined) return field.required();
  if ((spec.schedule ?? '') === '') field.at('schedule').required();
  else if (spec.schedule.length > maxSchedule) field.at('schedule').tooLong(maxSchedule);
  else {
    const problem = cronScheduleProblem(spec.schedule);
    if (problem !== undefined) field.at('schedule').invalid(spec.schedule, problem);
    if (/TZ/.test(spec.schedule))
      field.at('schedule').invalid(spec.schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead');
  }
  validateTimeZone(spec.timeZone, field.at('timeZone'));
  validateNonnegative(spec.startingDeadlineSeconds, field.at('startingDeadlineSeconds'));
  validateChoice(spec.concurrencyPolicy, ['Allow', 'Forbid', 'Replace'], field.at('concurrencyPolicy'));
  validateNonnegative(spec.successfulJobsHistoryLimit, field.at('successfulJobsHistoryLimit'));
  validateNonnegative(spec.failedJobsHistoryLimit, field.at('failedJobsHistoryLimit'));
  const template = field.at('jobTemplate').at('spec');
  if (spec.jobTemplate?.spec === undefined) return template.required();
  if (spec.jobTemplate.spec.selector !== undefined)
    template.at('selector').invalid(spec.jobTemplate.spec.selector, '`selector` will be auto-generated');
  if (spec.jobTemplate.spec.manualSelector === true) template.at('manualSelector').notSupported(true, ['nil', 'false']);
  validateJobSpec(spec.jobTemplate.spec, template);
}

export function validateCronJob(cronJob: CronJob, field: Field): void {
  validateSpec(cronJob, field.at('spec'));
  const name = cronJob.metadata.name ?? '';
  if (name.length > MAX_NAME_LENGTH)
    field.at('metadata').at('name').invalid(name, `must be no more than ${MAX_NAME_LENGTH} characters`);
}

export function validateCronJobUpdate(cronJob: CronJob, _old: CronJob, field: Field): void {
  validateSpec(cronJob, field.at('spec'));
}
