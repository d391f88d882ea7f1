// Limits the number of parts of a client's object. Upstream has no such limit, but threads: there, an object of a million empty
// messages delays one request; here it would delay all.

import { JsonSyntaxError, MAX_DEPTH, type ParsedJson, stringEnd } from './json-parser.ts';
import { parseJson } from './json.ts';
import type { KubernetesObject } from '../object.ts';
import { requestEntityTooLarge } from '../status-error.ts';

/** The maximum number of map entries and list items. Real objects stay far below: a definition of 1 MB has some 40,000. */
export const MAX_PARTS = 100_000;

/** Elements of one map or list beyond this many count {@link wideWeight} times, because large tables cost more for each entry. */
const WIDE_FROM = 1000;
const WIDE_WEIGHT = 4;

/** Shorter texts are not scanned: they have few parts and cannot nest deep enough to cost time. */
const SCANNED_LENGTH = 64 * 1024;

/** The number of parts that a body, or a text in it, may still have. */
export class PartBudget {
  readonly #max: number;
  readonly #holder: string;
  #left: number;
  #widths: Map<object, number> | undefined;

  constructor(max = MAX_PARTS, holder = 'one object') {
    this.#max = max;
    this.#holder = holder;
    this.#left = max;
  }

  /** Throws 413. */
  take(amount: number): void {
    this.#left -= amount;
    if (this.#left < 0)
      throw requestEntityTooLarge(`limit is ${this.#max} fields, entries and items in ${this.#holder}`);
  }

  /** Counts all items or entries of one list or map. Throws 413. */
  takeAll(amount: number): void {
    this.take(amount <= WIDE_FROM ? amount : WIDE_FROM + (amount - WIDE_FROM) * WIDE_WEIGHT);
  }

  /** Counts the next item or entry of this list or map. Throws 413. */
  takeOf(holder: object): void {
    this.#widths ??= new Map();
    const width = (this.#widths.get(holder) ?? 0) + 1;
    this.#widths.set(holder, width);
    this.take(width > WIDE_FROM ? WIDE_WEIGHT : 1);
  }
}

/** Parses JSON that a client sent. Throws {@link JsonSyntaxError} and 413. */
export function parseClientJson(text: string): ParsedJson {
  if (scanJson(text)) throw new JsonSyntaxError('exceeded max depth');
  const parsed = parseJson(text);
  checkParts(parsed.value, text.length);
  return parsed;
}

/** Throws 413 for a parsed body with too many parts. `length` is that of its text. */
export function checkParts(value: unknown, length: number): void {
  if (length > SCANNED_LENGTH) count(value, new PartBudget());
}

/** Throws 413 when an object has too many parts to be stored, as after many small patches. `length` is that of its text. */
export function checkStoredParts(object: KubernetesObject, length: number): void {
  if (length <= SCANNED_LENGTH) return;
  const { metadata, ...rest } = object;
  const { managedFields, ...others } = metadata;
  count({ ...rest, metadata: others }, new PartBudget());
  count(managedFields, new PartBudget());
}

/** The approximate size in JSON of a number, or of a name with its quotes, colon and comma. */
const PART_BYTES = 12;

/** Whether a value exceeds roughly this many bytes of JSON. Stops as soon as that is known. */
export function isLargeValue(value: unknown, bytes: number): boolean {
  return bytesLeft(value, bytes) < 0;
}

function bytesLeft(value: unknown, bytes: number): number {
  if (typeof value === 'string') return bytes - value.length;
  if (typeof value !== 'object' || value === null) return bytes;
  let left = bytes;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && left >= 0; at++) left = bytesLeft(value[at], left - 1);
    return left;
  }
  for (const name in value) {
    left = bytesLeft((value as Record<string, unknown>)[name], left - PART_BYTES);
    if (left < 0) break;
  }
  return left;
}

function count(value: unknown, budget: PartBudget): void {
  if (typeof value !== 'object' || value === null) return;
  const items: unknown[] = Array.isArray(value) ? value : Object.values(value);
  budget.takeAll(items.length);
  for (const item of items) count(item, budget);
}

/**
 * Checks a JSON text before it is parsed. Throws 413 for too many parts; returns true when it nests deeper than the parser
 * allows. A text that is not JSON passes, because the parser reports it better.
 */
export function scanJson(text: string): boolean {
  return text.length > SCANNED_LENGTH && scan(text, new PartBudget());
}

/** Lists in annotations have far fewer parts. */
const MAX_PARTS_OF_TEXT = 5000;

/**
 * `scanJson` for JSON in a text of an object, such as an annotation, which counts as one part of the object itself. `holder`
 * names that text in the error.
 */
export function scanJsonIn(holder: string, text: string): boolean {
  return scan(text, new PartBudget(MAX_PARTS_OF_TEXT, holder));
}

function scan(text: string, budget: PartBudget): boolean {
  const widths = [0];
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        at = stringEnd(text, at);
        break;
      case 0x2c: // ,
        budget.take(++widths[depth]! > WIDE_FROM ? WIDE_WEIGHT : 1);
        break;
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > MAX_DEPTH) return true;
        widths[depth] = 0;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        if (depth > 0) depth--;
        break;
    }
  }
  return false;
}
