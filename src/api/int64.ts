/**
 * Values of int64 fields. JSON integers beyond 2^53 are bigints, so that objects are stored as they were sent. Arithmetic wraps
 * at 64 bits as Go's does.
 */

/** A number where that is exact, else a bigint. */
export type Int64 = number | bigint;

const NANOSECONDS_PER_SECOND = 1_000_000_000n;
/** The largest number of seconds whose nanoseconds fit into int64. */
const MAX_DURATION_SECONDS = 9_223_372_036;

function fromBigInt(value: bigint): Int64 {
  const wrapped = BigInt.asIntN(64, value);
  return Number.isSafeInteger(Number(wrapped)) ? Number(wrapped) : wrapped;
}

/** Parses decimal digits with an optional sign. */
export function parseInt64(text: string): Int64 | 'value out of range' {
  const digits = text.replace(/^\+/, '').replace(/^(-?)0+(?=\d)/, '$1');
  const value = digits.length > 100 ? undefined : BigInt(digits);
  return value === undefined || BigInt.asIntN(64, value) !== value ? 'value out of range' : fromBigInt(value);
}

/** The sum, which wraps from the largest int64 to the smallest. */
export function addInt64(value: Int64, more: number): Int64 {
  const sum = typeof value === 'number' ? value + more : Number.NaN;
  return Number.isSafeInteger(sum) ? sum : fromBigInt(BigInt(value) + BigInt(more));
}

/**
 * The milliseconds of Go's `time.Duration(seconds) * time.Second`. Beyond 292 years the nanoseconds wrap, as upstream, so that
 * now plus the result is always a representable time.
 */
export function secondsToMs(seconds: Int64): number {
  if (typeof seconds === 'number' && Math.abs(seconds) <= MAX_DURATION_SECONDS) return seconds * 1000;
  return Number(BigInt.asIntN(64, BigInt(seconds) * NANOSECONDS_PER_SECOND) / 1_000_000n);
}

/** The smaller of two values. */
export function minInt64(a: Int64, b: Int64): Int64 {
  return b < a ? b : a;
}
