/**
 * Parses large JSON responses of other servers in pieces, between which the event loop runs other tasks. A piece is some members
 * of one list or object; a member larger than a piece that has members itself is read in pieces of its own.
 * As in `parseJson`, integers beyond 2^53 are kept and the last of duplicate keys wins. Duplicates are not reported.
 */
import type { Steps } from '../../base/steps.ts';
import { isEscaped, JsonSyntaxError, MAX_DEPTH, stringEnd } from './json-parser.ts';
import { parseJson } from './json.ts';
import { setOwn, type JsonObject } from './own-property.ts';

/** Parsing a piece of this length takes a few milliseconds at most, whatever its content. */
const PIECE_LENGTH = 32 * 1024;

export interface JsonLimits {
  /** The maximum number of object entries and list items. */
  readonly maxParts: number;
}

/** Throws {@link JsonSyntaxError}. */
export function* jsonSteps(text: string, { maxParts }: JsonLimits): Steps<unknown> {
  if (text.length <= PIECE_LENGTH) return parseJson(text).value;
  const cursor: Cursor = { text, maxParts, at: 0, depth: 0, parts: 0 };
  const value = yield* valueSteps(cursor);
  skipSpace(cursor);
  if (cursor.at < text.length) throw syntaxError(cursor);
  return value;
}

interface Cursor {
  readonly text: string;
  readonly maxParts: number;
  at: number;
  depth: number;
  /** The number of parts read so far. */
  parts: number;
}

function* valueSteps(cursor: Cursor): Steps<unknown> {
  skipSpace(cursor);
  switch (cursor.text[cursor.at]) {
    case '[':
      return yield* listSteps(cursor);
    case '{':
      return yield* objectSteps(cursor);
    case '"':
      return yield* stringSteps(cursor);
    default:
      return scalarAt(cursor);
  }
}

function* listSteps(cursor: Cursor): Steps<unknown[]> {
  const out: unknown[] = [];
  yield* memberSteps(cursor, {
    brackets: ['[', ']'],
    take: (part) => {
      for (const item of part as unknown[]) out.push(item);
    },
    *takeLarge() {
      out.push(yield* valueSteps(cursor));
    },
  });
  return out;
}

function* objectSteps(cursor: Cursor): Steps<JsonObject> {
  const out: JsonObject = {};
  yield* memberSteps(cursor, {
    brackets: ['{', '}'],
    take: (part) => {
      for (const [key, value] of Object.entries(part as JsonObject)) setOwn(out, key, value);
    },
    *takeLarge() {
      skipSpace(cursor);
      if (cursor.text[cursor.at] !== '"') throw syntaxError(cursor);
      const key = yield* stringSteps(cursor);
      skipSpace(cursor);
      if (cursor.text[cursor.at++] !== ':') throw syntaxError(cursor);
      setOwn(out, key, yield* valueSteps(cursor));
    },
  });
  return out;
}

interface Holder {
  readonly brackets: readonly [string, string];
  /** Adds some members, parsed as a list or object of their own. */
  take(part: unknown): void;
  /** Reads a member that is larger than a piece. */
  takeLarge(): Steps<void>;
}

function* memberSteps(cursor: Cursor, holder: Holder): Steps<void> {
  const { text } = cursor;
  const [open, close] = holder.brackets;
  if (++cursor.depth > MAX_DEPTH) throw new JsonSyntaxError('exceeded max depth');
  cursor.at++;
  for (let isFirst = true; ; isFirst = false) {
    const end = endOfMembers(cursor);
    if (end === undefined) {
      yield;
      yield* holder.takeLarge();
    } else {
      const members = text.slice(cursor.at, end);
      const mayBeEmpty = isFirst && text[end] === close;
      cursor.at = end;
      if (!mayBeEmpty && members.trim() === '') throw syntaxError(cursor);
      const part = parseJson(open + members + close).value;
      cursor.parts += partsOf(part);
      if (cursor.parts > cursor.maxParts)
        throw new JsonSyntaxError(`more than ${cursor.maxParts} fields, entries and items`);
      holder.take(part);
    }
    yield;
    skipSpace(cursor);
    const after = text[cursor.at];
    if (after !== ',' && after !== close) throw syntaxError(cursor);
    cursor.at++;
    if (after === close) break;
  }
  cursor.depth--;
}

function partsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const items: unknown[] = Array.isArray(value) ? value : Object.values(value);
  return items.reduce<number>((sum, item) => sum + partsOf(item), items.length);
}

/** The end of the last member that lies entirely in the next piece; undefined when the first one does not. */
function endOfMembers({ text, at: start, depth: outer }: Cursor): number | undefined {
  const limit = start + PIECE_LENGTH;
  let end: number | undefined;
  let depth = 0;
  for (let at = start; at < limit && at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        at = stringEnd(text, at, limit);
        break;
      case 0x2c: // ,
        if (depth === 0) end = at;
        break;
      case 0x5b: // [
      case 0x7b: // {
        if (++depth + outer > MAX_DEPTH) throw new JsonSyntaxError('exceeded max depth');
        break;
      case 0x5d: // ]
      case 0x7d: // }
        if (--depth < 0) return at;
        break;
    }
  }
  return end;
}

function skipSpace(cursor: Cursor): void {
  const { text } = cursor;
  for (;;) {
    const c = text.charCodeAt(cursor.at);
    if (c !== 32 && c !== 10 && c !== 13 && c !== 9) return;
    cursor.at++;
  }
}

/** Strings contain neither keys nor integers, so the native parser reads them at any length. */
function* stringSteps(cursor: Cursor): Steps<string> {
  const start = cursor.at;
  cursor.at = (yield* stringEndSteps(cursor)) + 1;
  try {
    return JSON.parse(cursor.text.slice(start, cursor.at)) as string;
  } catch {
    throw new JsonSyntaxError('invalid character in string literal');
  }
}

function* stringEndSteps({ text, at: start }: Cursor): Steps<number> {
  let seen = start;
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    if (!isEscaped(text, at)) return at;
    if (at - seen < PIECE_LENGTH) continue;
    seen = at;
    yield;
  }
  throw new JsonSyntaxError('unexpected end of JSON input');
}

const SCALAR_END = /[,\]}\s]/g;

function scalarAt(cursor: Cursor): unknown {
  SCALAR_END.lastIndex = cursor.at;
  const end = SCALAR_END.exec(cursor.text)?.index ?? cursor.text.length;
  if (end - cursor.at > PIECE_LENGTH) throw syntaxError(cursor);
  const { value } = parseJson(cursor.text.slice(cursor.at, end));
  cursor.at = end;
  return value;
}

function syntaxError({ text, at }: Cursor): JsonSyntaxError {
  if (at >= text.length) return new JsonSyntaxError('unexpected end of JSON input');
  return new JsonSyntaxError(`invalid character ${JSON.stringify(text[at])} at ${at}`);
}
