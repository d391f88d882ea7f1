/** Cron jobs. Upstream: apis/batch/validation ValidateCronJob. */
import type { Field } from '../field-error.ts';
import type { CronJob } from '../gen/batch-v1.ts';
import { validateChoice, validateNonnegative } from './common.ts';
import { validateJobSpec } from './job.ts';

/** Names get a suffix of eleven characters and still must be names of pods. */
const MAX_NAME_LENGTH = 52;

interface CronField {
  readonly name: string;
  readonly low: number;
  readonly high: number;
  readonly words: readonly string[];
}

const FIELDS: readonly CronField[] = [
  { name: 'minute', low: 0, high: 59, words: [] },
  { name: 'hour', low: 0, high: 23, words: [] },
  { name: 'day of month', low: 1, high: 31, words: [] },
  {
    name: 'month',
    low: 1,
    high: 12,
    words: ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  { name: 'day of week', low: 0, high: 6, words: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
];
const MACROS = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];

function parseNumber(text: string, field: CronField): number | undefined {
  const word = field.words.indexOf(text.toLowerCase());
  if (word >= 0 && text !== '') return word;
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

function rangeProblem(text: string, field: CronField): string | undefined {
  const [range = '', step, ...rest] = text.split('/');
  if (rest.length > 0) return `too many slashes: ${text}`;
  if (step !== undefined && (!/^\d+$/.test(step) || Number(step) === 0))
    return `step of range should be a positive number: ${text}`;
  if (range === '*' || range === '?') return undefined;
  const bounds = range.split('-');
  if (bounds.length > 2) return `too many hyphens: ${text}`;
  const [low, high = low] = bounds.map((bound) => parseNumber(bound, field));
  if (low === undefined || high === undefined)
    return `failed to parse int from ${range}: strconv.Atoi: parsing ${JSON.stringify(range)}: invalid syntax`;
  if (low < field.low) return `beginning of range (${low}) below minimum (${field.low}): ${text}`;
  if (high > field.high) return `end of range (${high}) above maximum (${field.high}): ${text}`;
  return low > high ? `beginning of range (${low}) beyond end of range (${high}): ${text}` : undefined;
}

/** What is wrong with a schedule in upstream's dialect (robfig/cron), or undefined. */
export function cronScheduleProblem(schedule: string): string | undefined {
  const text = schedule.trim();
  if (text === '') return 'empty spec string';
  if (text.startsWith('@')) {
    if (MACROS.includes(text)) return undefined;
    return /^@every (\d+(\.\d+)?(ns|us|\u00b5s|ms|s|m|h))+$/.test(text)
      ? undefined
      : `unrecognized descriptor: ${text}`;
  }
  const parts = text.split(/\s+/);
  if (parts.length !== FIELDS.length) return `expected exactly 5 fields, found ${parts.length}: [${parts.join(' ')}]`;
  for (const [index, part] of parts.entries()) {
    for (const range of part.split(',')) {
      const problem = rangeProblem(range, FIELDS[index]!);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

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

function validateSpec(cronJob: CronJob, field: Field): void {
  const spec = cronJob.spec;
  if (spec === undefined) return field.required();
  if ((spec.schedule ?? '') === '') field.at('schedule').required();
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

/** A cron job. */
export function validateCronJob(cronJob: CronJob, field: Field): void {
  validateSpec(cronJob, field.at('spec'));
  const name = cronJob.metadata.name ?? '';
  if (name.length > MAX_NAME_LENGTH)
    field.at('metadata').at('name').invalid(name, `must be no more than ${MAX_NAME_LENGTH} characters`);
}

/** An update of a cron job. */
export function validateCronJobUpdate(cronJob: CronJob, _old: CronJob, field: Field): void {
  validateSpec(cronJob, field.at('spec'));
}
