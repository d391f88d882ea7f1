/** `"%s is %d".format([a, b])`. Upstream: cel-go ext/formatting.go. */
import { chargeWork, copyWork, walkWork } from '../meter.ts';
import { formatDuration, formatTimestamp } from '../runtime/times.ts';
import { typeOf } from '../runtime/type-of.ts';
import { Duration, FunctionError, isMapValue, type MapValue, mapEntries, Timestamp, Uint } from '../runtime/values.ts';
import { Type } from '../types/type.ts';
import { CLAUSE_PROBLEMS, parseFormat } from './format-clauses.ts';
import { doubleText } from './numbers.ts';

/** Units of work for a clause. */
const CLAUSE_WORK = 25;
/** Units of work for formatting a double, and for each of its digits. */
const DOUBLE_WORK = 40;
const DIGIT_WORK = 0.4;

/** Replaces a format's clauses by the arguments in order. Throws {@link FunctionError} for arguments that do not fit. */
export function formatText(format: string, args: readonly unknown[]): string {
  let next = 0;
  return parseFormat(
    format,
    ({ verb, precision }) => {
      if (verb === undefined || next >= args.length) return undefined;
      const value = args[next++];
      chargeWork(CLAUSE_WORK);
      const text = clauseText(verb, precision, value);
      if (text === undefined)
        throw new FunctionError(`error during formatting: ${CLAUSE_PROBLEMS[verb]}, was given ${typeOf(value).name}`);
      copyWork(text.length);
      return text;
    },
    args.length,
  );
}

function clauseText(verb: string, precision: number | undefined, value: unknown): string | undefined {
  switch (verb) {
    case 's':
      return plainText(value);
    case 'd':
      return integerOf(value)?.toString();
    case 'f':
      return numberText(value, (number) => fixed(number, precision ?? 6));
    case 'e':
      return numberText(value, scientific);
    case 'b':
      return typeof value === 'boolean' ? (value ? '1' : '0') : integerOf(value)?.toString(2);
    case 'o':
      return integerOf(value)?.toString(8);
    case 'x':
      return hexadecimal(value);
    default:
      return hexadecimal(value)?.toUpperCase();
  }
}

/** The text of a value for `%s`; undefined for types that `%s` does not accept. */
function plainText(value: unknown): string | undefined {
  if (value === null) return 'null';
  if (typeof value === 'number') return doubleText(value);
  if (typeof value !== 'object') return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Type) return value.name;
  if (Array.isArray(value)) return `[${listed(value.map(innerText))}]`;
  return isMapValue(value) ? mapText(value) : undefined;
}

/** An element that occurs several times is written several times; each is charged before it is written. */
function listed(texts: readonly string[]): string {
  walkWork(texts.length);
  copyWork(texts.reduce((sum, text) => sum + text.length, 0));
  return texts.join(', ');
}

/** A value inside a list or map. */
function innerText(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (value instanceof Uint8Array) return `b${JSON.stringify(Buffer.from(value).toString('utf8'))}`;
  if (typeof value === 'number') return Number.isFinite(value) ? value.toFixed(6) : `"${doubleText(value)}"`;
  if (value instanceof Duration) return `duration("${formatDuration(value)}")`;
  if (value instanceof Timestamp) return `timestamp("${formatTimestamp(value)}")`;
  const text = plainText(value);
  if (text === undefined)
    throw new FunctionError(`error during formatting: no formatting function for ${typeOf(value).name}`);
  return text;
}

function mapText(map: MapValue): string {
  const entries = [...mapEntries(map)].map(([key, value]) => [innerText(key), innerText(value)] as const);
  const sorted = entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${listed(sorted.map(([key, value]) => `${key}:${value}`))}}`;
}

function integerOf(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  return value instanceof Uint ? value.value : undefined;
}

const SPECIAL: Readonly<Record<string, string>> = { NaN: 'NaN', Infinity: '∞', '-Infinity': '-∞' };

function numberText(value: unknown, format: (value: number) => string): string | undefined {
  if (typeof value === 'string') return SPECIAL[value];
  if (typeof value !== 'number') return undefined;
  if (!Number.isFinite(value)) return SPECIAL[String(value)];
  const text = format(value);
  chargeWork(DOUBLE_WORK + text.length * DIGIT_WORK);
  return text;
}

/** Inserts commas between thousands: upstream formats for the locale en. */
function fixed(value: number, precision: number): string {
  const digits = Math.min(precision, 100);
  const whole = Math.abs(value) >= 1e21;
  const text = whole ? `${BigInt(value)}${digits === 0 ? '' : `.${'0'.repeat(digits)}`}` : value.toFixed(digits);
  const [, sign = '', head = '', tail = ''] = /^(-?)(\d+)(.*)$/.exec(text) ?? [];
  return sign + withCommas(head) + tail;
}

function withCommas(digits: string): string {
  const groups: string[] = [];
  for (let end = digits.length; end > 0; end -= 3) groups.unshift(digits.slice(Math.max(0, end - 3), end));
  return groups.join(',');
}

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/** As upstream, the fraction always has six digits. */
function scientific(value: number): string {
  const [, digits = '', sign = '', power = ''] = /^(.+)e([+-])(\d+)$/.exec(value.toExponential(6)) ?? [];
  const raised = power.padStart(2, '0').replaceAll(/\d/g, (digit) => SUPERSCRIPTS[Number(digit)]!);
  return `${digits}×10${sign === '-' ? '⁻' : ''}${raised}`;
}

function hexadecimal(value: unknown): string | undefined {
  if (typeof value === 'string' || value instanceof Uint8Array) return Buffer.from(value as string).toString('hex');
  return integerOf(value)?.toString(16);
}
