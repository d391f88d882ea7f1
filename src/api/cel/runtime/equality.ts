/** Equality and order of values. Upstream: cel-go common/types, Equal and Compare of each type. */
import { Type } from '../types/type.ts';
import {
  Duration,
  EQUALS,
  type CelObject,
  FunctionError,
  isCelObject,
  isMapValue,
  type MapValue,
  mapEntries,
  mapSize,
  mapValue,
  NO_OVERLOAD,
  Optional,
  Timestamp,
  Uint,
} from './values.ts';

/** Equality of the language: numbers by value whatever their type, lists and maps deeply. */
export function celEquals(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || a === null) return equalScalars(a, b);
  if (a instanceof Uint) return equalNumbers(a.value, b);
  if (typeof b !== 'object' || b === null) return false;
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => celEquals(item, b[index]));
  if (isMapValue(a)) return isMapValue(b) && equalMaps(a, b);
  return equalObjects(a, b);
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

function equalScalars(a: unknown, b: unknown): boolean {
  return a === b || (isNumber(a) && equalNumbers(a, b));
}

/** An int equals a double when the double nearest to it does, as upstream. */
function equalNumbers(a: number | bigint, b: unknown): boolean {
  const other = numberOf(b);
  if (other === undefined) return false;
  return typeof a === typeof other ? a === other : Number(a) === Number(other);
}

function equalMaps(a: MapValue, b: MapValue): boolean {
  if (mapSize(a) !== mapSize(b)) return false;
  for (const [key, value] of mapEntries(a)) {
    const other = mapValue(b, key);
    if (other === undefined || !celEquals(value, other)) return false;
  }
  return true;
}

function equalObjects(a: object, b: object): boolean {
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos;
  if (a instanceof Type) return b instanceof Type && a.name === b.name;
  if (a instanceof Optional) return b instanceof Optional && equalOptionals(a, b);
  return a.constructor === b.constructor && isCelObject(a) && a[EQUALS](b as CelObject);
}

function equalOptionals(a: Optional, b: Optional): boolean {
  return a.hasValue === b.hasValue && (!a.hasValue || celEquals(a.content, b.content));
}

/** Order of two values: negative, zero or positive. Throws {@link FunctionError} for values without one. */
export function celCompare(a: unknown, b: unknown): number {
  const [left, right] = [numberOf(a), numberOf(b)];
  if (left !== undefined && right !== undefined) {
    if (Number.isNaN(left) || Number.isNaN(right)) throw new FunctionError('NaN values cannot be ordered');
    return typeof left === typeof right ? order(left, right) : order(Number(left), Number(right));
  }
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b);
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  if (a instanceof Duration && b instanceof Duration) return order(a.nanos, b.nanos);
  if (a instanceof Timestamp && b instanceof Timestamp) return order(a.nanos, b.nanos);
  throw new FunctionError(NO_OVERLOAD);
}

function numberOf(value: unknown): number | bigint | undefined {
  if (value instanceof Uint) return value.value;
  return isNumber(value) ? value : undefined;
}

function order(a: number | bigint, b: number | bigint): number {
  return a < b ? -1 : Number(a > b);
}

/** Go compares bytes of UTF-8, in which order surrogates come after all of the basic plane. */
function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  if (!/[\ud800-\udfff]/.test(a + b)) return a < b ? -1 : 1;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Whether values of its type have an order. */
export function isComparable(value: unknown): boolean {
  if (typeof value !== 'object') return value !== undefined;
  return [Uint, Uint8Array, Duration, Timestamp].some((kind) => value instanceof kind);
}
