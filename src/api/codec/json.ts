// Parses and prints JSON without loss: integers beyond 2^53 become bigint, duplicate keys are found, `__proto__` stays a key.
// JSON.parse reads nearly every document; the slow parser reads the rest.

import { JsonSyntaxError, MAX_DEPTH, parseSlowly, type ParsedJson } from './json-parser.ts';

/** A backslash before a closing quote makes the key count wrong. */
const ESCAPED_END = '\\\\"';

/**
 * Parses a JSON document. `duplicates` holds a text per duplicate key; the last value wins. Throws {@link JsonSyntaxError} with
 * upstream's text.
 */
export function parseJson(text: string): ParsedJson {
  if (text.includes(ESCAPED_END)) return parseSlowly(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return parseSlowly(text);
  }
  return countKeys(value, 0) === countKeyTokens(text) ? { value, duplicates: [] } : parseSlowly(text);
}

/** The number of unescaped quotes that a colon follows: every key of the text, and sometimes text inside a string. */
function countKeyTokens(text: string): number {
  let count = 0;
  const next = (at: number): number => (text.charCodeAt(at) === 0x3a ? at : text.indexOf(':', at));
  for (let at = next(0); at >= 0; at = next(at + 1)) {
    let before = at - 1;
    while (before >= 0 && text.charCodeAt(before) <= 32) before--;
    if (text.charCodeAt(before) === 0x22 && text.charCodeAt(before - 1) !== 0x5c) count++;
  }
  return count;
}

/**
 * The number of keys of all nested objects. Every key token of the text is counted, so equal counts prove that there is no
 * duplicate. NaN, which equals nothing, when an integer may have lost digits.
 */
function countKeys(value: unknown, depth: number): number {
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER ? Number.NaN : 0;
  if (typeof value !== 'object' || value === null) return 0;
  if (depth >= MAX_DEPTH) throw new JsonSyntaxError('exceeded max depth');
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countKeys(item, depth + 1);
    return count;
  }
  for (const key of Object.keys(value)) count += 1 + countKeys((value as Record<string, unknown>)[key], depth + 1);
  return count;
}

// TypeScript's library does not declare JSON.rawJSON yet.
const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;

/**
 * Prints a value that may contain bigints. Undefined fields are left out. `indent` is the number of blanks per level, 0 for one
 * line.
 */
export function stringifyJson(value: unknown, indent = 0): string {
  try {
    return JSON.stringify(value, null, indent);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? rawJson(String(v)) : v), indent);
  }
}

/**
 * The first characters of {@link stringifyJson}'s text, at least `length` of them unless it is shorter. The cost depends on
 * `length`, not on the value.
 */
export function startOfJson(value: unknown, length: number): string {
  let text = '';
  const add = (part: unknown): void => {
    if (typeof part === 'string') text += JSON.stringify(part.slice(0, length));
    else if (Array.isArray(part)) addAll(part.entries(), '[]', () => undefined);
    else if (typeof part !== 'object' || part === null) text += stringifyJson(part) ?? 'null';
    else addAll(Object.entries(part), '{}', (name) => (text += `${JSON.stringify(name.slice(0, length))}:`));
  };
  const addAll = <K>(entries: Iterable<[K, unknown]>, brackets: string, addName: (name: K) => void): void => {
    text += brackets[0];
    let separator = '';
    for (const [name, part] of entries) {
      if (text.length >= length) return;
      if (part === undefined && brackets === '{}') continue;
      text += separator;
      separator = ',';
      addName(name);
      add(part);
    }
    text += brackets[1];
  };
  add(value);
  return text;
}
