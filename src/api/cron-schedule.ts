/**
 * Schedules of cron jobs in upstream's dialect: validation, and conversion to a form that all dialects of cron read alike. Pure.
 * Upstream: robfig/cron.
 */

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

function numberProblem(text: string, field: CronField): string | undefined {
  if (parseNumber(text, field) !== undefined) return undefined;
  return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
}

function rangeProblem(text: string, field: CronField): string | undefined {
  const [range = '', step, ...rest] = text.split('/');
  const bounds = range.split('-');
  const isWhole = isStar(bounds[0]);
  if (!isWhole) {
    if (bounds.length > 2) return numberProblem(bounds[0]!, field) ?? `too many hyphens: ${text}`;
    for (const bound of bounds) {
      const problem = numberProblem(bound, field);
      if (problem !== undefined) return problem;
    }
  }
  if (rest.length > 0) return `too many slashes: ${text}`;
  if (step !== undefined && !/^\d+$/.test(step)) return numberProblem(step, { ...field, words: [] });
  const [low = 0, high = step === undefined ? low : field.high] = isWhole
    ? [field.low, field.high]
    : bounds.map((bound) => parseNumber(bound, field)!);
  if (low < field.low) return `beginning of range (${low}) below minimum (${field.low}): ${text}`;
  if (high > field.high) return `end of range (${high}) above maximum (${field.high}): ${text}`;
  if (low > high) return `beginning of range (${low}) beyond end of range (${high}): ${text}`;
  return step !== undefined && Number(step) === 0 ? `step of range should be a positive number: ${text}` : undefined;
}

/** The items of a field; as upstream, empty ones are skipped. */
function itemsOf(part: string): string[] {
  return part.split(',').filter((item) => item !== '');
}

/** The numbers that an item of a field denotes. `N/step` continues to the field's maximum; a step may exceed it. */
function numbersOf(text: string, field: CronField): number[] {
  const [range = '', step = '1'] = text.split('/');
  const [low, high = text.includes('/') ? field.high : low] = isStar(range.split('-')[0])
    ? [field.low, field.high]
    : range.split('-').map((bound) => parseNumber(bound, field) ?? field.low);
  const numbers: number[] = [];
  for (let at = low!; at <= high!; at += Number(step)) numbers.push(at);
  return numbers;
}

const isStar = (range: string | undefined): boolean => range === '*' || range === '?';

/**
 * A valid schedule in its plainest form: each field is a list of numbers, or `*` when the dialect counts it as unrestricted,
 * which decides whether both kinds of days must match or one. Macros are returned unchanged.
 */
export function plainCronSchedule(schedule: string): string {
  const text = schedule.trim();
  if (text.startsWith('@')) return text;
  const fields = text.split(/\s+/).map((part, index) => {
    const ranges = itemsOf(part);
    if (ranges.some((range) => isStar(range.replace(/\/0*1$/, '').split('-')[0]))) return '*';
    return [...new Set(ranges.flatMap((range) => numbersOf(range, FIELDS[index]!)))].sort((a, b) => a - b).join(',');
  });
  return fields.join(' ');
}

/** The error of a schedule in upstream's dialect (robfig/cron); undefined for a valid one. */
export function cronScheduleProblem(schedule: string): string | undefined {
  if (schedule === '') return 'empty spec string';
  const text = schedule.trim();
  if (text.startsWith('@')) {
    if (MACROS.includes(text)) return undefined;
    return /^@every (\d+(\.\d+)?(ns|us|\u00b5s|ms|s|m|h))+$/.test(text)
      ? undefined
      : `unrecognized descriptor: ${text}`;
  }
  const parts = text.split(/\s+/).filter((part) => part !== '');
  if (parts.length !== FIELDS.length) return `expected exactly 5 fields, found ${parts.length}: [${parts.join(' ')}]`;
  for (const [index, part] of parts.entries()) {
    for (const range of itemsOf(part)) {
      const problem = rangeProblem(range, FIELDS[index]!);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}
