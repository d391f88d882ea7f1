// The canonical text of a resource quantity, which upstream writes back for whatever a client sent (`0.5` becomes
// `500m`, `1024Mi` becomes `1Gi`). Upstream: apimachinery/pkg/api/resource, ParseQuantity and CanonicalizeBytes.

const decimal: Record<string, number> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const binary = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const decimalSuffix = new Map(Object.entries(decimal).map(([suffix, exponent]) => [exponent, suffix]));
const nano = 1_000_000_000n;

/** The message upstream gives for text that is no quantity. */
export const quantityFormatError =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

const shape = /^([+-]?)(\d*)(?:\.(\d*))?(?:([eE][+-]?\d{1,3})|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei))?$/;
const plain = /^(?:0|[1-9]\d{0,2})$/;

/** Canonical text of a quantity, or undefined when the text is none. */
export function canonicalQuantity(text: string): string | undefined {
  if (plain.test(text)) return text;
  const m = shape.exec(text);
  if (m === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent, suffix = ''] = m;
  if (whole === '' && fraction === '') return undefined;
  const power = binary.indexOf(suffix);
  const isBinary = power > 0;
  const tens = exponent !== undefined ? Number(exponent.slice(1)) : isBinary ? 0 : (decimal[suffix] ?? 0);
  const nanos = toNanos(BigInt(whole + fraction), tens - fraction.length, isBinary ? 1n << BigInt(10 * power) : 1n);
  const body = nanos === 0n ? '0' : isBinary ? binaryText(nanos) : decimalText(nanos, exponent !== undefined);
  return sign === '-' && nanos !== 0n ? `-${body}` : body;
}

/** Billionths, rounded away from zero, at most 2^63-1 units: upstream's precision and range. */
function toNanos(digits: bigint, tens: number, factor: bigint): bigint {
  const shift = tens + 9;
  const scaled = digits * factor;
  const max = ((1n << 63n) - 1n) * nano;
  const divisor = shift < 0 ? 10n ** BigInt(-shift) : 1n;
  const value = shift >= 0 ? scaled * 10n ** BigInt(shift) : (scaled + divisor - 1n) / divisor;
  return value > max ? max : value;
}

function decimalText(nanos: bigint, scientific: boolean): string {
  let amount = nanos;
  let exponent = -9;
  while (amount % 1000n === 0n && exponent < 18) {
    amount /= 1000n;
    exponent += 3;
  }
  if (scientific) return exponent === 0 ? String(amount) : `${amount}e${exponent}`;
  return `${amount}${decimalSuffix.get(exponent) ?? ''}`;
}

function binaryText(nanos: bigint): string {
  if (nanos < 1024n * nano || nanos % nano !== 0n) return decimalText(nanos, false);
  let amount = nanos / nano;
  let power = 0;
  while (amount % 1024n === 0n && power < 6) {
    amount /= 1024n;
    power++;
  }
  return `${amount}${binary[power]}`;
}
