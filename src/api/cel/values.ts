/**
 * Values between JSON and expressions. Whole numbers are ints (bigint), others doubles, objects Maps; all other types
 * come from schemas or functions. Upstream: apiserver/pkg/cel/common/values.go, cel-go's native type adapter.
 */
import { Optional } from '@marcbachmann/cel-js';
import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { formatDuration, formatTimestamp } from './time-values.ts';

/** Key of {@link CelObject}'s equality: a symbol, for fields of schemas may have any name. */
export const EQUALS: unique symbol = Symbol('equals');
/** Key of {@link CelObject}'s JSON. */
export const TO_JSON: unique symbol = Symbol('toJson');

/** An object of a type of ours: quantity, IP, URL, typed struct … */
export interface CelObject {
  /** Whether both say the same; `other` is of the same class. */
  [EQUALS](other: CelObject): boolean;
  /** What stands for it in JSON. */
  [TO_JSON](): unknown;
}

/** Whether a value is of a type of ours. */
export function isCelObject(value: unknown): value is CelObject {
  return typeof value === 'object' && value !== null && EQUALS in value;
}

/** JSON as an untyped (`dyn`) value. */
export function dynValue(json: unknown): unknown {
  if (typeof json === 'number') return Number.isInteger(json) ? BigInt(json) : json;
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return json.map(dynValue);
  const map = new Map<string, unknown>();
  for (const [key, value] of Object.entries(json)) if (value !== undefined) map.set(key, dynValue(value));
  return map;
}

/** Entries of a map value: from JSON or from a map literal, which the evaluator keeps as a plain object. */
export function mapEntries(map: object): Iterable<[unknown, unknown]> {
  return map instanceof Map ? map.entries() : Object.entries(map);
}

/** Whether a value is a map of the language. */
export function isMapValue(value: unknown): value is Map<unknown, unknown> | Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  return value instanceof Map || Object.getPrototypeOf(value) === Object.prototype;
}

/** A value as JSON: for patches and audit annotations. Throws for what JSON has no word for. */
export function jsonValue(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof UnsignedInt) return jsonValue(value.valueOf());
  if (Array.isArray(value) || value instanceof Set) return [...value].map(jsonValue);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Optional) return value.hasValue() ? jsonValue(value.value()) : undefined;
  if (value instanceof Duration) return formatDuration(value);
  if (isTimestamp(value)) return formatTimestamp(value);
  if (isCelObject(value)) return value[TO_JSON]();
  if (!isMapValue(value)) throw new Error(`no JSON for a value of type ${value.constructor?.name}`);
  return jsonObject(mapEntries(value));
}

function jsonObject(entries: Iterable<[unknown, unknown]>): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, value] of entries) {
    const json = jsonValue(value);
    if (json === undefined) continue;
    Object.defineProperty(result, String(key), { value: json, enumerable: true, writable: true, configurable: true });
  }
  return result;
}

/** A moment: the evaluator's own class, of millisecond precision. */
export type Timestamp = ReturnType<typeof import('../time.ts').dateOf>;

/** Whether a value is a moment. */
export function isTimestamp(value: unknown): value is Timestamp {
  return Object.prototype.toString.call(value) === '[object Date]';
}

/** Equality of the language: numbers by value whatever their type, lists and maps deeply. */
export function celEquals(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  const left = scalarOf(a);
  const right = scalarOf(b);
  if (left !== undefined && right !== undefined) {
    // Loose on purpose: an int equals a double of the same value, exactly.
    return isNumeric(left) === isNumeric(right) && left == right; // oxlint-disable-line eqeqeq
  }
  if (left !== undefined || right !== undefined || a === null || b === null) return false;
  return equalObjects(a as object, b as object);
}

type Scalar = string | number | bigint | boolean;

function isNumeric(value: Scalar): boolean {
  return typeof value === 'number' || typeof value === 'bigint';
}

function scalarOf(value: unknown): Scalar | undefined {
  if (value instanceof UnsignedInt) return value.valueOf();
  return typeof value === 'object' || typeof value === 'undefined' ? undefined : (value as Scalar);
}

function equalObjects(a: object, b: object): boolean {
  if (Array.isArray(a) || a instanceof Set) {
    if (!(Array.isArray(b) || b instanceof Set)) return false;
    const [left, right] = [[...a], [...b]];
    return left.length === right.length && left.every((item, index) => celEquals(item, right[index]));
  }
  if (isMapValue(a)) return isMapValue(b) && equalMaps(a, b);
  if (a.constructor !== b.constructor) return false;
  if (a instanceof Uint8Array) return Buffer.compare(a, b as Uint8Array) === 0;
  if (isTimestamp(a)) return a.getTime() === (b as Timestamp).getTime();
  if (a instanceof Duration) return a.seconds === (b as Duration).seconds && a.nanos === (b as Duration).nanos;
  if (isCelObject(a)) return a[EQUALS](b as unknown as CelObject);
  return false;
}

function equalMaps(a: object, b: object): boolean {
  const right = new Map(mapEntries(b));
  let size = 0;
  for (const [key, value] of mapEntries(a)) {
    if (!right.has(key) || !celEquals(value, right.get(key))) return false;
    size++;
  }
  return size === right.size;
}

/** Order of two values of one ordered type: negative, zero or positive. */
export function celCompare(a: unknown, b: unknown): number {
  const left = orderOf(a);
  const right = orderOf(b);
  if (left < right) return -1;
  return left > right ? 1 : 0;
}

function orderOf(value: unknown): string | number | bigint {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value instanceof UnsignedInt) return value.valueOf();
  if (value instanceof Duration) return value.seconds * 1_000_000_000n + BigInt(value.nanos);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  if (isTimestamp(value)) return value.getTime();
  throw new FunctionError('no such overload');
}

/** A failure inside a function, with upstream's text. */
export class FunctionError extends Error {}
