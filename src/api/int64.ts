/**
 * Values of int64 fields. JSON integers beyond 2^53 are bigints, so that an object is stored as it was sent; arithmetic on
 * them is as Go's, which wraps at 64 bits.
 */

/** A number where that is exact, else a bigint. */
export type Int64 = number | bigint;

const NANOSECONDS_PER_SECOND = 1_000_000_000n;
/** More seconds than this are more nanoseconds than int64 holds. */
const MAX_DURATION_SECONDS = 9_223_372_036;

function fromBigInt(value: bigint): Int64 {
  const wrapped = BigInt.asIntN(64, value);
  return Number.isSafeInteger(Number(wrapped)) ? Number(wrapped) : wrapped;
}

/** A whole number in decimal digits, with or without a sign. */
export function parseInt64(text: string): Int64 | 'value out of range' {
  const digits = text.replace(/^\+/, '').replace(/^(-?)0+(?=\d)/, '$1');
  const value = digits.length > 100 ? undefined : BigInt(digits);
  return value === undefined || BigInt.asIntN(64, value) !== value ? 'value out of range' : fromBigInt(value);
}

/** The sum; past the greatest int64 comes the least. */
export function addInt64(value: Int64, more: number): Int64 {
  const sum = typeof value === 'number' ? value + more : Number.NaN;
  return Number.isSafeInteger(sum) ? sum : fromBigInt(BigInt(value) + BigInt(more));
}

/**
 * Milliseconds of `time.Duration(seconds) * time.Second`. Within 292 years of zero: more seconds wrap, as in upstream's
 * components, so that a time counted from now is always one that can be written.
 */
export function secondsToMs(seconds: Int64): number {
  if (typeof seconds === 'number' && Math.abs(seconds) <= MAX_DURATION_SECONDS) return seconds * 1000;
  return Number(BigInt.asIntN(64, BigInt(seconds) * NANOSECONDS_PER_SECOND) / 1_000_000n);
}

/** The lesser of two. */
export function minInt64(a: Int64, b: Int64): Int64 {
  return b < a ? b : a;
}
