/** The parts of a moment in a time zone given by name (`Europe/Berlin`) or offset (`-08:00`). */
import { dateOf } from '../../time.ts';
import { FunctionError } from '../values.ts';

/** Calendar and clock; month, days of month and year count from zero as the language's functions do, `date` from one. */
interface TimestampParts {
  readonly year: number;
  readonly month: number;
  readonly date: number;
  readonly dayOfMonth: number;
  readonly dayOfWeek: number;
  readonly dayOfYear: number;
  readonly hours: number;
  readonly minutes: number;
  readonly seconds: number;
  readonly milliseconds: number;
}

const OFFSET = /^([+-])?(\d{2}):(\d{2})$/;
const DAY_MS = 86_400_000;

/** Throws {@link FunctionError} for an unknown zone. */
export function timestampParts(wallMs: number, zone: string): TimestampParts {
  const local = dateOf(wallMs + offsetMs(wallMs, zone));
  const year = local.getUTCFullYear();
  const startOfYear = parseYear(year);
  return {
    year,
    month: local.getUTCMonth(),
    date: local.getUTCDate(),
    dayOfMonth: local.getUTCDate() - 1,
    dayOfWeek: local.getUTCDay(),
    dayOfYear: Math.floor((local.getTime() - startOfYear) / DAY_MS),
    hours: local.getUTCHours(),
    minutes: local.getUTCMinutes(),
    seconds: local.getUTCSeconds(),
    milliseconds: local.getUTCMilliseconds(),
  };
}

function parseYear(year: number): number {
  const start = dateOf(0);
  return start.setUTCFullYear(year, 0, 1);
}

function offsetMs(wallMs: number, zone: string): number {
  if (zone === 'UTC' || zone === '') return 0;
  const match = OFFSET.exec(zone);
  if (match !== null) {
    const minutes = Number(match[2]) * 60 + Number(match[3]);
    return (match[1] === '-' ? -1 : 1) * minutes * 60_000;
  }
  return namedOffsetMs(wallMs, zone);
}

function namedOffsetMs(wallMs: number, zone: string): number {
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
    const name = format.formatToParts(wallMs).find((part) => part.type === 'timeZoneName')?.value ?? 'GMT';
    const [, sign, hours = '0', minutes = '0', seconds = '0'] = /^GMT([+-])?(\d+)?:?(\d+)?:?(\d+)?$/.exec(name) ?? [];
    return (sign === '-' ? -1 : 1) * (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  } catch {
    throw new FunctionError(`unknown time zone ${zone}`);
  }
}
