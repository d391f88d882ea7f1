// A JSON parser for the cases JSON.parse cannot serve: integers beyond 2^53 (kept as bigint), duplicate keys (reported with their
// path) and upstream's error texts. Upstream: sigs.k8s.io/json. The last of duplicate keys wins, as there. It is written by hand
// because no library reports duplicate keys with their paths and in upstream's texts.

import { quote } from '../../base/go-quote.ts';
import { setOwn, type JsonObject } from './own-property.ts';

/** Deeper nesting is refused. Upstream's limit is 10,000; real objects nest far less. */
export const MAX_DEPTH = 1000;

/** As upstream, further duplicate keys are not listed. */
export const MAX_STRICT_ERRORS = 100;
/** Longer paths are cut: a map key of any length is part of every path below it. */
export const MAX_PATH_LENGTH = 1000;

/** The error for a text that is not JSON, with upstream's message. */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError';
}

/** Result of {@link parseSlowly}. */
export interface ParsedJson {
  value: unknown;
  /** One text for each duplicate key: `duplicate field "spec.containers[0].name"`. */
  duplicates: string[];
}

interface State {
  readonly text: string;
  at: number;
  depth: number;
  readonly path: (string | number)[];
  readonly duplicates: string[];
}

/** Parses one JSON value. Throws {@link JsonSyntaxError}. */
export function parseSlowly(text: string): ParsedJson {
  const s: State = { text, at: 0, depth: 0, path: [], duplicates: [] };
  const value = parseValue(s);
  skipSpace(s);
  if (s.at < text.length) fail(s, 'after top-level value');
  return { value, duplicates: s.duplicates };
}

/** Formats path steps: `a.b[0].c`. */
export function formatPath(path: readonly (string | number)[]): string {
  let out = '';
  for (const step of path) {
    const text = typeof step === 'number' ? `[${step}]` : step.slice(0, MAX_PATH_LENGTH + 1);
    out += typeof step === 'number' || out === '' ? text : `.${text}`;
    if (out.length > MAX_PATH_LENGTH) return `${out.slice(0, MAX_PATH_LENGTH)}…`;
  }
  return out;
}

function fail(s: State, where: string): never {
  if (s.at >= s.text.length) throw new JsonSyntaxError('unexpected end of JSON input');
  const c = String.fromCodePoint(s.text.codePointAt(s.at) ?? 0);
  const quoted = c === "'" ? `'\\''` : c === '"' ? `'"'` : `'${JSON.stringify(c).slice(1, -1)}'`;
  throw new JsonSyntaxError(`invalid character ${quoted} ${where}`);
}

function skipSpace(s: State): void {
  for (;;) {
    const c = s.text.charCodeAt(s.at);
    if (c !== 32 && c !== 10 && c !== 13 && c !== 9) return;
    s.at++;
  }
}

function parseValue(s: State): unknown {
  skipSpace(s);
  const c = s.text[s.at];
  if (c === '{') return nested(s, parseObject);
  if (c === '[') return nested(s, parseArray);
  if (c === '"') return parseString(s);
  if (c === 't') return literal(s, 'true', true);
  if (c === 'f') return literal(s, 'false', false);
  if (c === 'n') return literal(s, 'null', null);
  if (c === '-' || (c !== undefined && c >= '0' && c <= '9')) return parseNumber(s);
  return fail(s, 'looking for beginning of value');
}

function nested<T>(s: State, parse: (s: State) => T): T {
  if (++s.depth > MAX_DEPTH) throw new JsonSyntaxError('exceeded max depth');
  s.at++;
  const value = parse(s);
  s.depth--;
  return value;
}

function literal<T>(s: State, word: string, value: T): T {
  for (let i = 0; i < word.length; i++, s.at++) {
    if (s.text[s.at] !== word[i]) fail(s, `in literal ${word} (expecting '${word[i]}')`);
  }
  return value;
}

function parseObject(s: State): JsonObject {
  const out: JsonObject = {};
  skipSpace(s);
  if (s.text[s.at] === '}') {
    s.at++;
    return out;
  }
  for (;;) {
    skipSpace(s);
    if (s.text[s.at] !== '"') fail(s, 'looking for beginning of object key string');
    const key = parseString(s);
    skipSpace(s);
    if (s.text[s.at] !== ':') fail(s, 'after object key');
    s.at++;
    s.path.push(key);
    if (Object.hasOwn(out, key) && s.duplicates.length < MAX_STRICT_ERRORS)
      s.duplicates.push(`duplicate field ${quote(formatPath(s.path))}`);
    setOwn(out, key, parseValue(s));
    s.path.pop();
    skipSpace(s);
    if (s.text[s.at] === '}') break;
    if (s.text[s.at] !== ',') fail(s, 'after object key:value pair');
    s.at++;
  }
  s.at++;
  return out;
}

function parseArray(s: State): unknown[] {
  const out: unknown[] = [];
  skipSpace(s);
  if (s.text[s.at] === ']') {
    s.at++;
    return out;
  }
  for (;;) {
    s.path.push(out.length);
    out.push(parseValue(s));
    s.path.pop();
    skipSpace(s);
    if (s.text[s.at] === ']') break;
    if (s.text[s.at] !== ',') fail(s, 'after array element');
    s.at++;
  }
  s.at++;
  return out;
}

/** The end of the string that begins at `start`; `limit` when it does not end before. */
export function stringEnd(text: string, start: number, limit = text.length): number {
  for (let at = text.indexOf('"', start + 1); at >= 0 && at < limit; at = text.indexOf('"', at + 1))
    if (!isEscaped(text, at)) return at;
  return limit;
}

/** Whether the quote at this index of a string is escaped. */
export function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text.charCodeAt(before - 1) === 0x5c) before--;
  return (at - before) % 2 === 1;
}

function parseString(s: State): string {
  const end = stringEnd(s.text, s.at);
  try {
    const value = JSON.parse(s.text.slice(s.at, end + 1)) as string;
    s.at = end + 1;
    return value;
  } catch {
    return failInString(s);
  }
}

const SPECIAL_CHARACTER = /["\\\u0000-\u001f]/g;

/** Throws the error that describes what is wrong with a string. */
function failInString(s: State): never {
  s.at++;
  for (;;) {
    SPECIAL_CHARACTER.lastIndex = s.at;
    const hit = SPECIAL_CHARACTER.exec(s.text);
    s.at = hit === null ? s.text.length : hit.index;
    if (hit?.[0] !== '\\') fail(s, 'in string literal');
    s.at++;
    skipEscape(s);
  }
}

function skipEscape(s: State): void {
  const c = s.text[s.at];
  if (c === undefined || !'"\\/bfnrtu'.includes(c)) fail(s, 'in string escape code');
  s.at++;
  if (c !== 'u') return;
  for (let i = 0; i < 4; i++, s.at++) {
    if (!/[0-9a-fA-F]/.test(s.text[s.at] ?? '')) fail(s, 'in \\u hexadecimal character escape');
  }
}

const NUMBER_TEXT = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;

function parseNumber(s: State): number | bigint {
  NUMBER_TEXT.lastIndex = s.at;
  const hit = NUMBER_TEXT.exec(s.text);
  if (hit === null) {
    s.at++;
    return fail(s, 'in numeric literal');
  }
  s.at += hit[0].length;
  const value = Number(hit[0]);
  if (!Number.isFinite(value))
    throw new JsonSyntaxError(`json: cannot unmarshal number ${shortened(hit[0])} into Go value of type float64`);
  const integer = hit[1] === undefined && hit[2] === undefined;
  return integer && !Number.isSafeInteger(value) ? BigInt(hit[0]) : value;
}

function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}...` : text;
}
