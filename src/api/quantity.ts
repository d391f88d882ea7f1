/**
 * Resource quantities: exact decimal numbers with a suffix. Amounts are big integers of nano-units, so arithmetic and comparison
 * are exact. Upstream: apimachinery/pkg/api/resource.Quantity; as there, digits finer than nano round up, and a text with a
 * binary suffix is at most 2^63-1. Differs: from 10^21 on a decimal suffix keeps the value, where upstream loses the thousands
 * that have no suffix.
 * Parsed texts are cached, because quantities repeat, so hot paths may parse the same text again.
 */

import { StacklessError } from '../base/errors.ts';

/** The kind of suffix that a quantity is written with. */
export type QuantityFormat = 'BinarySI' | 'DecimalSI' | 'DecimalExponent';

/** A parsed quantity; immutable. */
export interface ParsedQuantity {
  readonly nanos: bigint;
  readonly format: QuantityFormat;
}

/** The error of an invalid quantity, with upstream's message. */
export class QuantityError extends StacklessError {
  override readonly name = 'QuantityError';
}

const NANO = 1_000_000_000n;
const SHAPE = /^([+-]?)(\d*)(?:\.(\d*))?(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?\d+)?$/;
/** Upstream's message for an invalid quantity. */
export const QUANTITY_FORMAT_TEXT =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
/** By suffix, the power of two. */
export const BINARY_POWER: Readonly<Record<string, bigint>> = { Ki: 10n, Mi: 20n, Gi: 30n, Ti: 40n, Pi: 50n, Ei: 60n };
/** By suffix, the power of ten. */
export const DECIMAL_POWER: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const DECIMAL_SUFFIXES = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'] as const;
const BINARY_SUFFIXES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const;
/** Larger exponents would only take memory. */
const MAX_EXPONENT = 999;
/** The limit of digits in the whole part; upstream has none. */
const MAX_DIGITS = 2000;
const MAX_NANOS = ((1n << 63n) - 1n) * NANO;
const MEMO_LIMIT = 4096;
const memo = new Map<string, ParsedQuantity>();

/** Throws {@link QuantityError}. */
export function parseQuantity(text: string): ParsedQuantity {
  const cached = memo.get(text);
  if (cached !== undefined) return cached;
  const parsed = parseExact(text);
  if (memo.size >= MEMO_LIMIT) memo.clear();
  memo.set(text, parsed);
  return parsed;
}

/** Returns undefined when the text is invalid. */
export function tryParseQuantity(text: unknown): ParsedQuantity | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    return parseQuantity(text);
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}

function parseExact(text: string): ParsedQuantity {
  const match = SHAPE.exec(text);
  if (match === null)
    throw new QuantityError(text === '' || !/^[+-]?[0-9.]+/.test(text) ? QUANTITY_FORMAT_TEXT : suffixProblem(text));
  const [, sign, allWhole = '', allFraction = '', suffix = ''] = match;
  const [whole, fraction] = shortened(allWhole, allFraction);
  if (whole.length > MAX_DIGITS && BINARY_POWER[suffix] === undefined) throw new QuantityError(QUANTITY_FORMAT_TEXT);
  if (whole === '' && fraction === '') throw new QuantityError(QUANTITY_FORMAT_TEXT);
  const digits = BigInt(whole + fraction || '0');
  const { numerator, denominator, format } = scaleOf(suffix);
  const top = digits * numerator * NANO;
  const bottom = denominator * 10n ** BigInt(fraction.length);
  const exact = (top + bottom - 1n) / bottom;
  const magnitude = format === 'BinarySI' && exact > MAX_NANOS ? MAX_NANOS : exact;
  return { nanos: sign === '-' ? -magnitude : magnitude, format };
}

/**
 * Truncates digits that cannot change the value. Of a longer fraction only whether it has a nonzero digit matters, for rounding
 * up.
 */
function shortened(whole: string, fraction: string): [whole: string, fraction: string] {
  if (whole.length <= MAX_DIGITS && fraction.length <= MAX_DIGITS) return [whole, fraction];
  const rest = fraction.slice(MAX_DIGITS);
  const sticky = /[1-9]/.test(rest) ? '1' : '';
  return [whole.replace(/^0+/, '').slice(0, MAX_DIGITS + 1), fraction.slice(0, MAX_DIGITS) + sticky];
}

function suffixProblem(text: string): string {
  return /^[+-]?[0-9.]+(?:[eEinumkKMGTP]+[-+]?[0-9]*|[-+][0-9]*)?$/.test(text)
    ? "unable to parse quantity's suffix"
    : QUANTITY_FORMAT_TEXT;
}

function scaleOf(suffix: string): { numerator: bigint; denominator: bigint; format: QuantityFormat } {
  const binary = BINARY_POWER[suffix];
  if (binary !== undefined) return { numerator: 1n << binary, denominator: 1n, format: 'BinarySI' };
  const tabulated = DECIMAL_POWER[suffix];
  const power = tabulated ?? Number(suffix.slice(1));
  if (Math.abs(power) > MAX_EXPONENT) throw new QuantityError("unable to parse quantity's suffix");
  const format = tabulated === undefined ? 'DecimalExponent' : 'DecimalSI';
  return power < 0
    ? { numerator: 1n, denominator: 10n ** BigInt(-power), format }
    : { numerator: 10n ** BigInt(power), denominator: 1n, format };
}

/** The canonical text: the largest suffix that keeps the exact value. */
export function formatQuantity(quantity: ParsedQuantity): string {
  const { nanos, format } = quantity;
  if (nanos === 0n) return '0';
  if (format === 'BinarySI' && nanos % NANO === 0n && (nanos >= 1024n * NANO || nanos <= -1024n * NANO)) {
    return formatBinary(nanos / NANO);
  }
  let amount = nanos;
  let step = 0;
  while (amount % 1000n === 0n && (format === 'DecimalExponent' || step < DECIMAL_SUFFIXES.length - 1)) {
    amount /= 1000n;
    step++;
  }
  if (format !== 'DecimalExponent') return `${amount}${DECIMAL_SUFFIXES[step]}`;
  const exponent = step * 3 - 9;
  return exponent === 0 ? `${amount}` : `${amount}e${exponent}`;
}

function formatBinary(whole: bigint): string {
  let amount = whole;
  let step = 0;
  while (amount % 1024n === 0n && step < BINARY_SUFFIXES.length - 1) {
    amount /= 1024n;
    step++;
  }
  return `${amount}${BINARY_SUFFIXES[step]}`;
}

/** Small whole numbers, which most quantities are, are canonical texts already. */
const PLAIN = /^(?:0|[1-9]\d{0,2})$/;

/** The canonical text, which upstream stores for any text of a client; undefined when the text is invalid. */
export function canonicalQuantity(text: string): string | undefined {
  if (PLAIN.test(text)) return text;
  const parsed = tryParseQuantity(text);
  return parsed && formatQuantity(parsed);
}

/** Negative, zero or positive as `a` is smaller than, equal to or larger than `b`. Throws {@link QuantityError}. */
export function compareQuantities(a: string, b: string): number {
  if (a === b) return 0;
  const left = parseQuantity(a).nanos;
  const right = parseQuantity(b).nanos;
  return left < right ? -1 : left > right ? 1 : 0;
}

/** The sum in the format of `a` (of `b` when `a` is zero, as upstream). */
export function addQuantities(a: string, b: string): string {
  const left = parseQuantity(a);
  const right = parseQuantity(b);
  return formatQuantity({ nanos: left.nanos + right.nanos, format: left.nanos === 0n ? right.format : left.format });
}

/** The difference `a - b` in the format of `a` (of `b` when `a` is zero, as upstream). */
export function subtractQuantities(a: string, b: string): string {
  const left = parseQuantity(a);
  const right = parseQuantity(b);
  return formatQuantity({ nanos: left.nanos - right.nanos, format: left.nanos === 0n ? right.format : left.format });
}

function roundedUp(nanos: bigint, unit: bigint): number {
  const quotient = nanos / unit;
  const remainder = nanos % unit;
  return Number(remainder === 0n ? quotient : remainder > 0n ? quotient + 1n : quotient - 1n);
}

/** Whole units, rounded away from zero. Exact up to 2^53. Throws {@link QuantityError}. */
export function quantityValue(text: string): number {
  return roundedUp(parseQuantity(text).nanos, NANO);
}

/** Thousandths, rounded away from zero. Exact up to 2^53. Throws {@link QuantityError}. */
export function quantityMilliValue(text: string): number {
  return roundedUp(parseQuantity(text).nanos, NANO / 1000n);
}

/** The nearest floating-point number. Throws {@link QuantityError}. */
export function quantityAsFloat(text: string): number {
  return Number(parseQuantity(text).nanos) / 1e9;
}

/** Whether the quantity is zero; an undefined one counts as zero. */
export function isZeroQuantity(text: string | undefined): boolean {
  return text === undefined || parseQuantity(text).nanos === 0n;
}

/** The text of a quantity of whole units. */
export function quantityFromValue(units: number | bigint, format: QuantityFormat = 'DecimalSI'): string {
  return formatQuantity({ nanos: BigInt(units) * NANO, format });
}

/** The text of a quantity of thousandths. */
export function quantityFromMilliValue(milliUnits: number | bigint, format: QuantityFormat = 'DecimalSI'): string {
  return formatQuantity({ nanos: BigInt(milliUnits) * (NANO / 1000n), format });
}
