/** Texts of durations and timestamps. Upstream: cel-go's types.Duration and types.Timestamp. */
import { Duration } from '@marcbachmann/cel-js/evaluator';
import type { dateOf } from '../time.ts';

const NANOS_PER_SECOND = 1_000_000_000n;

/** Total nanoseconds. */
export function durationNanos(duration: Duration): bigint {
  return duration.seconds * NANOS_PER_SECOND + BigInt(duration.nanos);
}

/** A duration from nanoseconds. */
export function durationFromNanos(nanos: bigint): Duration {
  return new Duration(nanos / NANOS_PER_SECOND, Number(nanos % NANOS_PER_SECOND));
}

/** `90s`, `1.5s`, `-0.25s`. */
export function formatDuration(duration: Duration): string {
  const nanos = durationNanos(duration);
  const absolute = nanos < 0n ? -nanos : nanos;
  const fraction = (absolute % NANOS_PER_SECOND).toString().padStart(9, '0').replace(/0+$/, '');
  return `${nanos < 0n ? '-' : ''}${absolute / NANOS_PER_SECOND}${fraction === '' ? '' : `.${fraction}`}s`;
}

/** RFC 3339 in UTC, with a fraction only where there is one. */
export function formatTimestamp(moment: ReturnType<typeof dateOf>): string {
  return moment
    .toISOString()
    .replace(/\.?0*Z$/, (tail) => (tail.startsWith('.') ? 'Z' : tail))
    .replace(/(\.\d*?)0+Z$/, '$1Z');
}
