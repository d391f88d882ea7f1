/**
 * Conversions and time functions the evaluator lacks or does differently: RFC 3339 only, Go's durations, time zones by name
 * or offset. Upstream: cel-go's standard library.
 */
import type { Environment } from '@marcbachmann/cel-js';
import { Optional } from '@marcbachmann/cel-js';
import type { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { dateOf, parseTime } from '../../time.ts';
import { define } from '../define.ts';
import { durationFromNanos, formatDuration, formatTimestamp } from '../time-values.ts';
import type { Timestamp } from '../values.ts';
import { celCompare, celEquals, FunctionError } from '../values.ts';
import { timestampParts } from './time-zones.ts';

const TIME = 'google.protobuf.Timestamp';
const SPAN = 'google.protobuf.Duration';
const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/** A moment from RFC 3339 text. Throws {@link FunctionError}. */
export function timestampOf(text: string): Timestamp {
  const ms = RFC3339.test(text) ? parseTime(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new FunctionError(`type conversion error from 'string' to 'google.protobuf.Timestamp'`);
  return dateOf(ms);
}

const UNIT_NANOS: Readonly<Record<string, bigint>> = {
  h: 3_600_000_000_000n,
  m: 60_000_000_000n,
  s: 1_000_000_000n,
  ms: 1_000_000n,
  us: 1_000n,
  µs: 1_000n,
  ns: 1n,
};

/** A duration from Go's text: `1h30m`, `-1.5s`. Throws {@link FunctionError}. */
export function durationOf(text: string): Duration {
  const [, sign, parts = ''] =
    /^([+-])?((?:\d+(?:\.\d*)?(?:h|ms|us|µs|ns|m|s)|\.\d+(?:h|ms|us|µs|ns|m|s))+|0)$/.exec(text) ?? [];
  if (parts === '') throw new FunctionError(`time: invalid duration ${JSON.stringify(text)}`);
  let nanos = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of parts.matchAll(/(\d*)\.?(\d*)(h|ms|us|µs|ns|m|s)/g)) {
    const size = UNIT_NANOS[unit] ?? 0n;
    nanos += BigInt(whole || '0') * size;
    if (fraction !== '') nanos += (BigInt(fraction) * size) / 10n ** BigInt(fraction.length);
  }
  return durationFromNanos(sign === '-' ? -nanos : nanos);
}

/** Declares the functions. */
export function defineConversions(environment: Environment): void {
  define(environment, {
    [`@timestamp(string): ${TIME}`]: timestampOf,
    [`@timestamp(${TIME}): ${TIME}`]: (moment: Timestamp) => moment,
    [`@timestamp(int): ${TIME}`]: (seconds: bigint) => {
      if (seconds > 253402300799n || seconds < -62135596800n) throw new FunctionError('timestamp overflow');
      return dateOf(Number(seconds) * 1000);
    },
    [`string(${TIME}): string`]: formatTimestamp,
    [`string(${SPAN}): string`]: formatDuration,
    [`@duration(string): ${SPAN}`]: durationOf,
    [`@duration(${SPAN}): ${SPAN}`]: (span: Duration) => span,
    [`int(${TIME}): int`]: (moment: Timestamp) => BigInt(Math.floor(moment.getTime() / 1000)),
    'int(uint): int': (value: UnsignedInt) => {
      if (value.valueOf() > 9223372036854775807n) throw new FunctionError('integer overflow');
      return value.valueOf();
    },
  });
  defineGetters(environment);
  defineOptionals(environment);
  for (const operator of ['<', '<=', '>', '>='] as const) {
    environment.registerOperator(`bytes ${operator} bytes: bool`, ((a: Uint8Array, b: Uint8Array) =>
      ordered(operator, celCompare(a, b))) as never);
  }
}

function ordered(operator: '<' | '<=' | '>' | '>=', order: number): boolean {
  if (operator === '<') return order < 0;
  if (operator === '<=') return order <= 0;
  return operator === '>' ? order > 0 : order >= 0;
}

const GETTERS = {
  getFullYear: 'year',
  getMonth: 'month',
  getDate: 'date',
  getDayOfMonth: 'dayOfMonth',
  getDayOfWeek: 'dayOfWeek',
  getDayOfYear: 'dayOfYear',
  getHours: 'hours',
  getMinutes: 'minutes',
  getSeconds: 'seconds',
  getMilliseconds: 'milliseconds',
} as const;

function defineGetters(environment: Environment): void {
  for (const [name, part] of Object.entries(GETTERS)) {
    define(environment, {
      [`${TIME}.@${name}(): int`]: (moment: Timestamp) => BigInt(timestampParts(moment.getTime(), 'UTC')[part]),
      [`${TIME}.@${name}(string): int`]: (moment: Timestamp, zone: string) =>
        BigInt(timestampParts(moment.getTime(), zone)[part]),
    });
  }
  define(environment, {
    [`${SPAN}.@getHours(): int`]: (span: Duration) => span.seconds / 3600n,
    [`${SPAN}.@getMinutes(): int`]: (span: Duration) => span.seconds / 60n,
    [`${SPAN}.@getSeconds(): int`]: (span: Duration) => span.seconds,
    [`${SPAN}.@getMilliseconds(): int`]: (span: Duration) =>
      span.seconds * 1000n + BigInt(Math.trunc(span.nanos / 1e6)),
  });
}

function defineOptionals(environment: Environment): void {
  const isZero = (value: unknown): boolean =>
    value === null || [false, 0, 0n, '', [], new Map()].some((zero) => celEquals(value, zero));
  define(environment, {
    'OptionalNamespace.ofNonZeroValue(A): optional<A>': (_namespace: unknown, value: unknown) =>
      isZero(value) ? Optional.none() : Optional.of(value),
    'list<A>.first(): optional<A>': (list: unknown[]) => Optional.of(list[0]),
    'list<A>.last(): optional<A>': (list: unknown[]) => Optional.of(list.at(-1)),
  });
}
