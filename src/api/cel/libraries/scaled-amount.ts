/**
 * The short form in which Go keeps a quantity: a 64-bit number and a power of ten. Amounts without it are never integers to Go, even
 * where their value is whole (`1Ei`, `1000m`). Upstream: apimachinery/pkg/api/resource (ParseQuantity, int64Amount).
 */
import { BINARY_POWER, DECIMAL_POWER } from '../../quantity.ts';

/** value × 10^scale. */
export interface ScaledAmount {
  readonly value: bigint;
  readonly scale: number;
}

const PARTS = /^([+-]?)0*(\d*)(?:\.(\d*))?(.*)$/;
/** The most digits of a decimal number that has the short form. */
const MAX_DIGITS = 18;
/** The same of a binary number, less one digit for each 10/3 of its exponent. */
const MAX_BINARY_DIGITS = 14;
const MIN_SCALE = -9;

/** The short form of a valid quantity; undefined where Go uses a number of any size. */
export function scaledAmountOf(text: string): ScaledAmount | undefined {
  const [, sign, digits = '', fraction = '', suffix = ''] = PARTS.exec(text)!;
  const whole = digits === '' ? '0' : digits;
  const power = BINARY_POWER[suffix];
  const binary = power === undefined ? undefined : Number(power);
  if (binary !== undefined && (fraction !== '' || whole.length + Math.trunc((binary * 3) / 10) > MAX_BINARY_DIGITS))
    return undefined;
  if (whole.length + fraction.length > MAX_DIGITS) return undefined;
  const exponent = binary === undefined ? (DECIMAL_POWER[suffix] ?? Number(suffix.slice(1))) : 0;
  const scale = exponent - fraction.length;
  if (scale < MIN_SCALE) return undefined;
  const value = inRange(BigInt(`${whole}${fraction}`) << (power ?? 0n));
  return value === undefined ? undefined : { value: sign === '-' ? -value : value, scale };
}

/** The sum in the short form; undefined where it has none. */
export function sumOf(a: ScaledAmount, b: ScaledAmount): ScaledAmount | undefined {
  if (b.value === 0n) return a;
  if (a.value === 0n) return b;
  const scale = Math.min(a.scale, b.scale);
  const [left, right] = [raised(a.value, a.scale - scale), raised(b.value, b.scale - scale)];
  const value = left === undefined || right === undefined ? undefined : inRange(left + right);
  return value === undefined ? undefined : { value, scale };
}

/** The integer; undefined for a negative scale, and beyond 64 bits. */
export function integerOf({ value, scale }: ScaledAmount): bigint | undefined {
  return scale < 0 ? undefined : raised(value, scale);
}

function raised(value: bigint, scale: number): bigint | undefined {
  return value === 0n ? 0n : inRange(value * 10n ** BigInt(scale));
}

function inRange(value: bigint): bigint | undefined {
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
