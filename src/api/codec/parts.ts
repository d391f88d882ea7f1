// How many parts a client's object may have. Upstream has no such bound; it has threads: there, an object of a million
// empty messages costs one request its time, here it would cost everybody theirs.

import { JsonSyntaxError, MAX_DEPTH, type ParsedJson, stringEnd } from './json-parser.ts';
import { parseJson } from './json.ts';
import type { KubernetesObject } from '../object.ts';
import { requestEntityTooLarge } from '../status-error.ts';

/** Entries of maps and items of lists. Real objects stay far below: a definition of 1 MB has some 40,000. */
export const MAX_PARTS = 100_000;

/** What one map or list has beyond this many counts {@link wideWeight} times: large tables cost more for each entry. */
const WIDE_FROM = 1000;
const WIDE_WEIGHT = 4;

/** Shorter texts have few parts, and nest at no cost. */
const SCANNED_LENGTH = 64 * 1024;

/** What is left of the parts that a body may have. */
export class PartBudget {
  #left = MAX_PARTS;
  #widths: Map<object, number> | undefined;

  /** Throws 413. */
  take(amount: number): void {
    this.#left -= amount;
    if (this.#left < 0) throw requestEntityTooLarge(`limit is ${MAX_PARTS} fields, entries and items in one object`);
  }

  /** Takes all items or entries of one list or map. Throws 413. */
  takeAll(amount: number): void {
    this.take(amount <= WIDE_FROM ? amount : WIDE_FROM + (amount - WIDE_FROM) * WIDE_WEIGHT);
  }

  /** Takes the next item or entry of this list or map. Throws 413. */
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

/** Throws 413 for a parsed body with too many parts. `length`: of its text. */
export function checkParts(value: unknown, length: number): void {
  if (length > SCANNED_LENGTH) count(value, new PartBudget());
}

/** Throws 413 for an object with too many parts to be stored, as many small patches make one. `length`: of its text. */
export function checkStoredParts(object: KubernetesObject, length: number): void {
  if (length <= SCANNED_LENGTH) return;
  const { metadata, ...rest } = object;
  const { managedFields, ...others } = metadata;
  count({ ...rest, metadata: others }, new PartBudget());
  count(managedFields, new PartBudget());
}

/** About what a name with its quotes, colon and comma, or a number, takes in JSON. */
const PART_BYTES = 12;

/** Whether a value would be longer than this many bytes of JSON, roughly. Walks no further than it takes to know. */
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
 * Refuses a text of JSON before it is parsed: 413 for too many parts. True where it nests deeper than the parser allows.
 * Whatever is no JSON passes: the parser knows what to say of it.
 */
export function scanJson(text: string): boolean {
  if (text.length <= SCANNED_LENGTH) return false;
  const budget = new PartBudget();
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
