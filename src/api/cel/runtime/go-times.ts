/** Durations and timestamps as Go prints them. Upstream: Go's time.Duration.String and time.Time.String. */
import { formatTimestamp } from './times.ts';
import type { Duration, Timestamp } from './values.ts';

const SECOND = 1_000_000_000n;
/** A duration below one second has a single unit, with a fraction. */
const SMALL_UNITS: readonly (readonly [bigint, string])[] = [
  [1_000_000n, 'ms'],
  [1000n, 'µs'],
  [1n, 'ns'],
];

/** A duration as Go prints it: `1h30m0s`, `1.5s`, `20ms`. */
export function durationText({ nanos }: Duration): string {
  if (nanos === 0n) return '0s';
  const sign = nanos < 0n ? '-' : '';
  const size = nanos < 0n ? -nanos : nanos;
  if (size < SECOND) {
    const [unit, name] = SMALL_UNITS.find(([each]) => size >= each)!;
    return `${sign}${decimal(size, unit)}${name}`;
  }
  const minutes = size / (60n * SECOND);
  const seconds = `${decimal(size % (60n * SECOND), SECOND)}s`;
  if (minutes === 0n) return sign + seconds;
  const hours = minutes / 60n;
  return `${sign}${hours === 0n ? '' : `${hours}h`}${minutes % 60n}m${seconds}`;
}

function decimal(size: bigint, unit: bigint): string {
  const rest = (size % unit)
    .toString()
    .padStart(unit.toString().length - 1, '0')
    .replace(/0+$/, '');
  return rest === '' ? `${size / unit}` : `${size / unit}.${rest}`;
}

/** A time as Go prints it: `2024-01-01 00:00:00 +0000 UTC`. */
export function dateText(moment: Timestamp): string {
  return `${formatTimestamp(moment).replace('T', ' ').replace('Z', '')} +0000 UTC`;
}
