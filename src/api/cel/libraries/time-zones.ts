/**
 * The parts of a timestamp in a time zone by name (`Europe/Berlin`) or offset (`-08:00`). Upstream: cel-go
 * common/types/timestamp.go over Go's time.
 */
import { Lru } from '../../../base/lru.ts';
import { dateOf } from '../../time.ts';
import { chargeWork, copyWork } from '../meter.ts';
import { FunctionError } from '../runtime/values.ts';

/** Month, day of month and day of year count from zero, as the language's functions do; `date` counts from one. */
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

const OFFSET = /^([+-]?)(\d+):([+-]?\d+)$/;
/** Units of work for a zone in addition to the call's price: at the first use of an offset, at each use of a name. */
const ZONE_COST = 1000;
const NAMED_ZONE_COST = 100;
const OFFSET_COST = 20;
/** Units of work for computing the parts of a timestamp. */
const PART_COST = 20;
const DAY_MS = 86_400_000;
/** Go's name of the server's own zone, which is UTC, as in upstream's images. */
const LOCAL = 'Local';

/** Throws {@link FunctionError} for an unknown zone. */
export function timestampParts(wallMs: number, zone: string): TimestampParts {
  chargeWork(PART_COST);
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
  if (zone === 'UTC' || zone === '' || zone === LOCAL) return 0;
  copyWork(zone.length);
  chargeWork(OFFSET_COST);
  if (zone.includes(':')) return fixedOffsetMs(zone);
  return namedOffsetMs(wallMs, zone);
}

function fixedOffsetMs(zone: string): number {
  const [, sign = '', hours = '', minutes = ''] = OFFSET.exec(zone) ?? [];
  if (hours === '') throw new FunctionError(`strconv.Atoi: parsing ${JSON.stringify(badPart(zone))}: invalid syntax`);
  const size = sign === '-' ? -Number(hours) * 60 - Number(minutes) : Number(hours) * 60 + Number(minutes);
  return size * 60_000;
}

/** The first part of an offset that is no number, for the error. */
function badPart(zone: string): string {
  const at = zone.indexOf(':');
  const hours = zone.slice(0, at);
  return /^[+-]?\d+$/.test(hours) ? zone.slice(at + 1) : hours;
}

/** Creating a formatter takes a hundred times as long as using it. */
const formats = new Lru<string, Intl.DateTimeFormat>(100);

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (format !== undefined) return format;
  chargeWork(ZONE_COST);
  try {
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  } catch {
    throw new FunctionError(`unknown time zone ${zone}`);
  }
  formats.set(zone, format);
  return format;
}

function namedOffsetMs(wallMs: number, zone: string): number {
  chargeWork(NAMED_ZONE_COST);
  const parts = formatOf(zone).formatToParts(wallMs);
  const name = parts.find((part) => part.type === 'timeZoneName')?.value ?? 'GMT';
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = /^GMT([+-])?(\d+)?:?(\d+)?:?(\d+)?$/.exec(name) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
}
