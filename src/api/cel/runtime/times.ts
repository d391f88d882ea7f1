/**
 * Durations and timestamps as texts, and their limits. Upstream: cel-go common/types/{duration,timestamp,overflow}.go and Go's
 * time.
 */
import { dateOf, parseTime } from '../../time.ts';
import { chargeWork, copyWork, textWork } from '../meter.ts';
import { Duration, FunctionError, Timestamp } from './values.ts';

const SECOND = 1_000_000_000n;
const MIN_SECONDS = -62135596800n;
const MAX_SECONDS = 253402300799n;

/** Throws {@link FunctionError} when the duration exceeds 64 bits of nanoseconds. */
export function durationFrom(nanos: bigint): Duration {
  if (BigInt.asIntN(64, nanos) !== nanos) throw new FunctionError('duration overflow');
  return new Duration(nanos);
}

/** Throws {@link FunctionError} outside the years 1 to 9999. */
export function timestampFrom(nanos: bigint): Timestamp {
  const seconds = floorDivide(nanos, SECOND);
  if (seconds < MIN_SECONDS || seconds > MAX_SECONDS) throw new FunctionError('timestamp overflow');
  return new Timestamp(nanos);
}

/** Rounds down. */
export function floorDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
}

/** Units of work for parsing or formatting a timestamp. */
const MOMENT_WORK = 40;

const RFC3339 = /^(\d{4}-\d{2}-\d{2})T(\d{1,2}:\d{2}:\d{2})(?:[.,](\d+))?(Z|[+-]\d{2}:\d{2})$/;

/** Parses RFC 3339. Throws {@link FunctionError}. */
export function timestampOf(text: string): Timestamp {
  chargeWork(MOMENT_WORK);
  copyWork(text.length);
  const [, date = '', time = '', fraction = '', zone = ''] = RFC3339.exec(text) ?? [];
  const wall = `${date}T${time.padStart(8, '0')}`;
  const ms = parseTime(`${wall}Z`);
  // Date would read a day that its month lacks as one of the next month.
  if (Number.isNaN(ms) || !dateOf(ms).toISOString().startsWith(wall) || !isZone(zone))
    throw new FunctionError("type conversion error from 'string' to 'google.protobuf.Timestamp'");
  const nanos = BigInt(fraction.slice(0, 9).padEnd(9, '0') || '0');
  return timestampFrom(BigInt(ms - zoneMs(zone)) * 1_000_000n + nanos);
}

function isZone(zone: string): boolean {
  return zone === 'Z' || (Number(zone.slice(1, 3)) <= 24 && Number(zone.slice(4)) < 60);
}

function zoneMs(zone: string): number {
  if (zone === 'Z') return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4));
  return (zone.startsWith('-') ? -minutes : minutes) * 60_000;
}

/** Parses a date without a time. Throws {@link FunctionError}. */
export function dateTimestampOf(text: string): Timestamp {
  return timestampOf(`${text}T00:00:00Z`);
}

/** RFC 3339 in UTC; the fraction is omitted when it is zero. */
export function formatTimestamp({ nanos }: Timestamp): string {
  chargeWork(MOMENT_WORK);
  const seconds = floorDivide(nanos, SECOND);
  const head = dateOf(Number(seconds) * 1000)
    .toISOString()
    .slice(0, 19);
  return `${head}${fractionText(nanos - seconds * SECOND)}Z`;
}

function fractionText(nanos: bigint): string {
  if (nanos === 0n) return '';
  return `.${nanos.toString().padStart(9, '0').replace(/0+$/, '')}`;
}

const UNITS: Readonly<Record<string, bigint>> = {
  h: 3600n * SECOND,
  m: 60n * SECOND,
  s: SECOND,
  ms: 1_000_000n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ns: 1n,
};
const DURATION = /^([+-])?((?:(?:\d+(?:\.\d*)?|\.\d+)(?:h|ms|us|µs|μs|ns|m|s))+|0)$/;

/** Units of work for a character of a duration. */
const DURATION_WORK = 2;

/** Parses Go's format of durations: `1h30m`, `-1.5s`. Throws {@link FunctionError}. */
export function durationOf(text: string): Duration {
  textWork(text, DURATION_WORK);
  const [, sign, parts] = DURATION.exec(text) ?? [];
  let nanos = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of (parts ?? '').matchAll(
    /(\d*)\.?(\d*)(h|ms|us|µs|μs|ns|m|s)/g,
  )) {
    nanos += nanosOf(whole, fraction, UNITS[unit]!);
  }
  if (sign === '-') nanos = -nanos;
  if (parts === undefined || BigInt.asIntN(64, nanos) !== nanos)
    throw new FunctionError("type conversion error from 'string' to 'google.protobuf.Duration'");
  return new Duration(nanos);
}

/** As in Go, further digits of a fraction are ignored. */
const FRACTION_DIGITS = 18;
/** A number with more digits exceeds the range in every unit. */
const WHOLE_DIGITS = 20;

function nanosOf(whole: string, fraction: string, unit: bigint): bigint {
  const digits = whole.replace(/^0+/, '').slice(0, WHOLE_DIGITS);
  const part = fraction.slice(0, FRACTION_DIGITS);
  return BigInt(digits || '0') * unit + (BigInt(part || '0') * unit) / 10n ** BigInt(part.length);
}

/** The duration in seconds, formatted as Go formats the float: `90s`, `1.5s`. */
export function formatDuration({ nanos }: Duration): string {
  const absolute = nanos < 0n ? -nanos : nanos;
  const seconds = Number(absolute / SECOND) + Number(absolute % SECOND) / 1e9;
  return `${nanos < 0n ? '-' : ''}${plainNumber(seconds)}s`;
}

/** A number formatted without an exponent. */
function plainNumber(value: number): string {
  const text = String(value);
  if (!text.includes('e')) return text;
  return value.toFixed(20).replace(/\.?0+$/, '');
}
