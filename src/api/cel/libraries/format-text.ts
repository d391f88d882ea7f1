/** `"%s is %d".format([a, b])`. Upstream: cel-go ext/formatting_v2.go. */
import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { chargeText } from '../meter.ts';
import { formatDuration, formatTimestamp } from '../time-values.ts';
import { TO_JSON, FunctionError, isCelObject, isMapValue, isTimestamp, mapEntries } from '../values.ts';

const CLAUSE = /%(?:%|(?:\.(\d+))?(.))|%$/gsu;

/** Fills a format's clauses with the arguments in order. Throws {@link FunctionError} for what does not fit. */
export function formatText(format: string, args: readonly unknown[]): string {
  let next = 0;
  const text = format.replace(CLAUSE, (clause, precision: string | undefined, verb: string | undefined) => {
    if (clause === '%%') return '%';
    if (verb === undefined) throw new FunctionError('unexpected end of string');
    if (next >= args.length) throw new FunctionError(`index ${next} out of range`);
    return formatClause(verb, precision === undefined ? undefined : Number(precision), args[next++]);
  });
  chargeText(format.length + text.length);
  return text;
}

function formatClause(verb: string, precision: number | undefined, value: unknown): string {
  switch (verb) {
    case 's':
      return plainText(value);
    case 'd':
      return decimal(value);
    case 'f':
      return fixed(value, precision ?? 6);
    case 'e':
      return exponent(value, precision ?? 6);
    case 'b':
      return typeof value === 'boolean' ? (value ? '1' : '0') : integerOf(value, 'binary').toString(2);
    case 'o':
      return integerOf(value, 'octal').toString(8);
    case 'x':
      return hexadecimal(value);
    case 'X':
      return hexadecimal(value).toUpperCase();
    default:
      throw new FunctionError(`could not parse formatting clause: unrecognized formatting clause "${verb}"`);
  }
}

/** A value as `%s` shows it. */
function plainText(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'number') return doubleText(value);
  if (typeof value !== 'object') return String(value);
  if (value instanceof UnsignedInt) return String(value.valueOf());
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (value instanceof Duration) return formatDuration(value);
  if (isTimestamp(value)) return formatTimestamp(value);
  if (Array.isArray(value)) return `[${value.map(plainText).join(', ')}]`;
  if (isMapValue(value)) {
    const entries = [...mapEntries(value)].map(([key, item]) => [plainText(key), plainText(item)] as const);
    return `{${entries
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => `${key}: ${item}`)
      .join(', ')}}`;
  }
  if ('name' in value && typeof value.name === 'string') return value.name;
  if (isCelObject(value)) return String(value[TO_JSON]());
  throw new FunctionError(
    'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps',
  );
}

function doubleText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity';
  return String(value);
}

function decimal(value: unknown): string {
  if (typeof value === 'number') return doubleText(value);
  return integerOf(value, 'decimal').toString();
}

function integerOf(value: unknown, clause: string): bigint {
  if (typeof value === 'bigint') return value;
  if (value instanceof UnsignedInt) return value.valueOf();
  throw new FunctionError(`${clause} clause can only be used on integers`);
}

function numberOf(value: unknown, clause: string): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof UnsignedInt) return Number(value.valueOf());
  throw new FunctionError(`${clause} clause can only be used on doubles`);
}

function fixed(value: unknown, precision: number): string {
  const number = numberOf(value, 'fixed-point');
  return Number.isFinite(number) ? number.toFixed(Math.min(precision, 100)) : doubleText(number);
}

function exponent(value: unknown, precision: number): string {
  const number = numberOf(value, 'scientific');
  if (!Number.isFinite(number)) return doubleText(number);
  return number.toExponential(Math.min(precision, 100)).replace(/e([+-])(\d)$/, 'e$10$2');
}

function hexadecimal(value: unknown): string {
  if (typeof value === 'string') return Buffer.from(value).toString('hex');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return integerOf(value, 'hexadecimal').toString(16);
}
