/** Strings: positions count characters (code points), as Go's runes. Upstream: cel-go ext.Strings, version 2. */
import { chargeWork, checkPrice, copyWork, walkWork } from '../meter.ts';
import { runeCount } from '../runtime/size-of.ts';
import { FunctionError } from '../runtime/values.ts';
import { valueText } from '../runtime/value-text.ts';
import type { Declarations } from '../types/declarations.ts';
import { formatText } from './format-text.ts';
import { indexIn, lastIndexIn, splitAt } from '../../../base/text-search.ts';

export function defineStrings(declarations: Declarations): void {
  declarations.define({
    'string.charAt(int): string': charAt,
    'string.indexOf(string): int': (text: string, part: string) => indexOf(text, part, 0n),
    'string.indexOf(string, int): int': indexOf,
    'string.lastIndexOf(string): int': (text: string, part: string) => {
      const length = BigInt(runeCount(text));
      if (part === '') return length;
      return Buffer.byteLength(text) < Buffer.byteLength(part) ? -1n : lastIndexOf(text, part, length - 1n);
    },
    'string.lastIndexOf(string, int): int': lastIndexOf,
    'string.lowerAscii(): string': (text: string) => withAsciiCase(text, false),
    'string.replace(string, string): string': (text: string, from: string, to: string) =>
      replace(text, [from, to], -1n),
    'string.replace(string, string, int): string': (text: string, from: string, ...[to, count]: [string, bigint]) =>
      replace(text, [from, to], count),
    'string.split(string): list<string>': (text: string, by: string) => split(text, by, -1n),
    'string.split(string, int): list<string>': split,
    'string.substring(int): string': (text: string, from: bigint) => slice(text, from, undefined),
    'string.substring(int, int): string': slice,
    'string.trim(): string': trimmed,
    'string.upperAscii(): string': (text: string) => withAsciiCase(text, true),
    'string.format(list<dyn>): string': formatText,
    'list<string>.join(): string': (parts: unknown[]) => join(parts, ''),
    'list<string>.join(string): string': join,
  });
  declarations.defineNamespaced({ 'strings.quote(string): string': quoteText });
}

/** The characters of Go's unicode.IsSpace. */
const SPACE = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

/** A loop over UTF-16 units: a regular expression for trailing space is quadratic. */
function trimmed(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && SPACE.test(text[start]!)) start++;
  while (end > start && SPACE.test(text[end - 1]!)) end--;
  chargeWork((text.length - (end - start)) * SPACE_WORK);
  return text.slice(start, end);
}

/** Units of work for a space that is trimmed. */
const SPACE_WORK = 0.3;

const ASCII = /^[\0-\u007f]*$/;
const CASE_BIT = 0x20;

/** Changes the case of ASCII letters. A loop over units: a regular expression would match each run of letters by itself. */
function withAsciiCase(text: string, isUpper: boolean): string {
  if (ASCII.test(text)) return isUpper ? text.toUpperCase() : text.toLowerCase();
  const first = (isUpper ? 'a' : 'A').charCodeAt(0);
  const bytes = Buffer.from(text, 'utf16le');
  for (let at = 0; at < bytes.length; at += 2) {
    const letter = bytes[at]! - first;
    if (bytes[at + 1] === 0 && letter >= 0 && letter < 26) bytes[at]! ^= CASE_BIT;
  }
  return bytes.toString('utf16le');
}

/** Splitting a text into characters takes longer than upstream's price of one traversal. */
function runesOf(text: string): string[] {
  chargeWork(Math.ceil(text.length / 2));
  return [...text];
}

function outOfRange(at: bigint): FunctionError {
  return new FunctionError(`index out of range: ${at}`);
}

function charAt(text: string, at: bigint): string {
  const runes = runesOf(text);
  if (at < 0n || at > BigInt(runes.length)) throw outOfRange(at);
  return runes[Number(at)] ?? '';
}

function indexOf(text: string, part: string, from: bigint): bigint {
  if (part === '') return from;
  if (from < 0n) throw outOfRange(from);
  const head = runesOf(text).slice(0, Number(from)).join('').length;
  const index = from >= BigInt(runeCount(text)) ? -1 : indexIn(text, part, head);
  return index < 0 ? -1n : BigInt(runeCount(text.slice(0, index)));
}

function lastIndexOf(text: string, part: string, from: bigint): bigint {
  if (part === '') return from;
  if (from < 0n) throw outOfRange(from);
  const runes = runesOf(text);
  if (from >= BigInt(runes.length)) return -1n;
  const index = lastIndexIn(text, part, runes.slice(0, Number(from)).join('').length);
  return index < 0 ? -1n : BigInt(runeCount(text.slice(0, index)));
}

function replace(text: string, [from, to]: readonly [string, string], count: bigint): string {
  const limit = count < 0n ? Number.POSITIVE_INFINITY : Number(count);
  if (limit === 0 || from === to) return text;
  const pieces = from === '' ? emptyPieces(text) : splitAt(text, from);
  const used = Math.min(limit, pieces.length - 1);
  copyWork(text.length + used * to.length);
  const tail = pieces.slice(used).join(from);
  return used === 0 ? text : pieces.slice(0, used).join(to) + to + tail;
}

/** As Go, the empty text is replaced before every character and at the end. */
function emptyPieces(text: string): string[] {
  return ['', ...runesOf(text), ''];
}

function split(text: string, by: string, limit: bigint): string[] {
  if (limit === 0n) return [];
  const parts = by === '' ? [...text] : splitAt(text, by);
  if (limit < 0n || BigInt(parts.length) <= limit) return parts;
  const head = parts.slice(0, Number(limit) - 1);
  return [...head, parts.slice(Number(limit) - 1).join(by)];
}

function slice(text: string, from: bigint, to: bigint | undefined): string {
  const runes = runesOf(text);
  const end = to ?? BigInt(runes.length);
  if (to !== undefined && from > end) throw new FunctionError(`invalid substring range. start: ${from}, end: ${end}`);
  for (const at of [from, end]) if (at < 0n || at > BigInt(runes.length)) throw outOfRange(at);
  return runes.slice(Number(from), Number(end)).join('');
}

function join(parts: unknown[], by: string): string {
  const bad = parts.findIndex((part) => typeof part !== 'string');
  if (bad >= 0) throw new FunctionError(`join: invalid input: ${valueText(parts[bad])}`);
  const between = Math.max(0, parts.length - 1) * by.length;
  walkWork(parts.length);
  const length = (parts as string[]).reduce((sum, part) => sum + part.length, between);
  // The price, a fifth of the characters, is charged with the result. A character has one or two UTF-16 units.
  checkPrice(length / 10);
  return parts.join(by);
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

/** Units of work for an escaped character. */
const ESCAPE_WORK = 0.8;

function quoteText(text: string): string {
  const escaped = text.replace(/[\u0007\b\f\n\r\t\v\\"]/g, (char) => ESCAPES[char] ?? char);
  chargeWork((escaped.length - text.length) * ESCAPE_WORK);
  return `"${escaped.toWellFormed()}"`;
}
