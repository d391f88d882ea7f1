/** Strings, and keys of JSON pointers: positions count characters (code points), as Go's runes. Upstream: cel-go ext.Strings, version 2. */
import type { Environment } from '@marcbachmann/cel-js';
import { define, defineNamespace } from '../define.ts';
import { chargeText } from '../meter.ts';
import { FunctionError } from '../values.ts';
import { formatText } from './format-text.ts';

/** Declares the library. */
export function defineStrings(environment: Environment): void {
  define(environment, {
    'string.charAt(int): string': (text: string, at: bigint) => {
      const runes = [...text];
      if (at < 0n || at > BigInt(runes.length)) throw new FunctionError(`index out of range: ${at}`);
      return runes[Number(at)] ?? '';
    },
    'string.@indexOf(string): int': (text: string, part: string) => search(text, part, { from: 0n, step: 1 }),
    'string.@indexOf(string, int): int': (text: string, part: string, from: bigint) =>
      search(text, part, { from, step: 1 }),
    'string.@lastIndexOf(string): int': (text: string, part: string) =>
      search(text, part, { from: BigInt(Math.max(0, [...text].length - [...part].length)), step: -1 }),
    'string.@lastIndexOf(string, int): int': (text: string, part: string, from: bigint) =>
      search(text, part, { from, step: -1 }),
    'string.@lowerAscii(): string': (text: string) => text.replace(/[A-Z]+/g, (upper) => upper.toLowerCase()),
    'string.@upperAscii(): string': (text: string) => text.replace(/[a-z]+/g, (lower) => lower.toUpperCase()),
    'string.replace(string, string): string': (text: string, from: string, to: string) =>
      replace(text, [from, to], -1n),
    'string.replace(string, string, int): string': (text: string, from: string, ...[to, count]: [string, bigint]) =>
      replace(text, [from, to], count),
    'string.@split(string): list<string>': (text: string, by: string) => split(text, by, -1n),
    'string.@split(string, int): list<string>': split,
    'string.@substring(int): string': (text: string, from: bigint) => slice(text, from, undefined),
    'string.@substring(int, int): string': slice,
    'list<string>.@join(): string': (parts: unknown[]) => join(parts, ''),
    'list<string>.@join(string): string': join,
    'string.format(list<dyn>): string': formatText,
  });
  defineNamespace(environment, 'strings', { 'quote(string): string': quoteText });
  defineNamespace(environment, 'jsonpatch', {
    'escapeKey(string): string': (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1'),
  });
}

function search(text: string, part: string, { from, step }: { from: bigint; step: 1 | -1 }): bigint {
  const runes = [...text];
  const wanted = [...part];
  if (from < 0n || (from > 0n && from >= BigInt(runes.length) && wanted.length > 0))
    throw new FunctionError(`index out of range: ${from}`);
  if (wanted.length === 0) return from;
  for (let at = Math.min(Number(from), runes.length - wanted.length); at >= 0; at += step) {
    if (at + wanted.length > runes.length) break;
    if (wanted.every((rune, index) => runes[at + index] === rune)) return BigInt(at);
  }
  return -1n;
}

function replace(text: string, [from, to]: readonly [string, string], count: bigint): string {
  const limit = count < 0n ? Number.POSITIVE_INFINITY : Number(count);
  if (limit === 0 || from === to) return text;
  const pieces = from === '' ? emptyPieces(text) : text.split(from);
  const used = Math.min(limit, pieces.length - 1);
  chargeText(text.length + used * to.length);
  const tail = pieces.slice(used).join(from);
  return used === 0 ? text : pieces.slice(0, used).join(to) + to + tail;
}

/** Go replaces the empty text before every character and at the end. */
function emptyPieces(text: string): string[] {
  return ['', ...text, ''];
}

function split(text: string, by: string, limit: bigint): string[] {
  if (limit === 0n) return [];
  const parts = by === '' ? [...text] : text.split(by);
  if (limit < 0n || BigInt(parts.length) <= limit) return parts;
  const head = parts.slice(0, Number(limit) - 1);
  return [...head, parts.slice(Number(limit) - 1).join(by)];
}

function slice(text: string, from: bigint, to: bigint | undefined): string {
  const runes = [...text];
  const end = to ?? BigInt(runes.length);
  if (from < 0n || from > BigInt(runes.length)) throw new FunctionError(`index out of range: ${from}`);
  if (end < 0n || end > BigInt(runes.length)) throw new FunctionError(`index out of range: ${end}`);
  if (from > end) throw new FunctionError(`invalid substring range. start: ${from}, end: ${end}`);
  return runes.slice(Number(from), Number(end)).join('');
}

function join(parts: unknown[], by: string): string {
  if (!parts.every((part) => typeof part === 'string')) throw new FunctionError('no such overload');
  const text = parts.join(by);
  chargeText(text.length);
  return text;
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

function quoteText(text: string): string {
  return `"${text.replace(/[\u0007\b\f\n\r\t\v\\"]/g, (char) => ESCAPES[char] ?? char).toWellFormed()}"`;
}
