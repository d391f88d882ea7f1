/**
 * Functions that return parts of timestamps and durations. Upstream: cel-go common/stdlib with
 * common/types/{timestamp,duration}.go.
 */
import type { Declarations } from '../types/declarations.ts';
import { Duration, FunctionError, NO_OVERLOAD, Timestamp } from '../runtime/values.ts';
import { floorDivide } from '../runtime/times.ts';
import { timestampParts } from './time-zones.ts';

const PARTS = {
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

/** The length of each unit in nanoseconds. */
const UNITS: Readonly<Record<string, bigint>> = {
  getHours: 3_600_000_000_000n,
  getMinutes: 60_000_000_000n,
  getSeconds: 1_000_000_000n,
  getMilliseconds: 1_000_000n,
};

export function defineTimeParts(declarations: Declarations): void {
  for (const [name, part] of Object.entries(PARTS)) {
    const unit = UNITS[name];
    const read = (value: unknown, zone = 'UTC'): bigint => {
      if (value instanceof Timestamp) return partOf(value, part, zone);
      if (value instanceof Duration && unit !== undefined && zone === 'UTC') return value.nanos / unit;
      throw new FunctionError(NO_OVERLOAD);
    };
    declarations.define({
      [`timestamp.${name}(): int`]: (moment: Timestamp) => read(moment),
      [`timestamp.${name}(string): int`]: (moment: Timestamp, zone: string) => read(moment, zone),
      ...(unit === undefined ? {} : { [`duration.${name}(): int`]: (span: Duration) => read(span) }),
    });
  }
}

function partOf({ nanos }: Timestamp, part: (typeof PARTS)[keyof typeof PARTS], zone: string): bigint {
  return BigInt(timestampParts(Number(floorDivide(nanos, 1_000_000n)), zone)[part]);
}
