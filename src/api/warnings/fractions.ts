/** Warnings about fractions of bytes. Upstream: MilliValue() % 1000 in pkg/api/pod and persistentvolumeclaim. */
import { quote } from '../../base/go-quote.ts';
import { tryParseQuantity } from '../quantity.ts';

const NANOS_PER_MILLI = 1_000_000n;
const NANOS_PER_UNIT = 1_000_000_000n;

/** The warning for a quantity with a fraction; a part smaller than a thousandth counts as one. */
export function fractionWarnings(text: string | undefined, path: string): string[] {
  const nanos = tryParseQuantity(text)?.nanos;
  if (text === undefined || nanos === undefined) return [];
  const millis = (nanos + NANOS_PER_MILLI - 1n) / NANOS_PER_MILLI;
  if ((millis * NANOS_PER_MILLI) % NANOS_PER_UNIT === 0n) return [];
  return [`${path}: fractional byte value ${quote(text)} is invalid, must be an integer`];
}
