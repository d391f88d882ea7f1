/** Equality and order of values. Upstream: cel-go common/types, Equal and Compare of each type. */
import { comparisonWork, copyWork, walkWork } from '../meter.ts';
import { Type } from '../types/type.ts';
import { KeyedList } from './keyed-list.ts';
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

/** CEL equality: numbers by value across types, lists and maps deeply. */
export function celEquals(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || a === null) return equalScalars(a, b);
  if (a instanceof Uint) return equalNumbers(a.value, b);
  if (typeof b !== 'object' || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && equalLists(a, b);
  if (isMapValue(a)) return isMapValue(b) && equalMaps(a, b);
  return equalObjects(a, b);
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

function equalScalars(a: unknown, b: unknown): boolean {
  if (typeof a === 'string' && a.length === (b as string)?.length) comparisonWork(a);
  return a === b || (isNumber(a) && equalNumbers(a, b));
}

/** Lists are always compared by item: a list with NaN does not equal itself. */
function equalLists(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a instanceof KeyedList) return a.equals(b, celEquals);
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) {
    walkWork(1);
    if (!celEquals(a[index], b[index])) return false;
  }
  return true;
}

/** The first index of a value in a list; -1 when the list lacks it. */
export function indexOfEqual(list: readonly unknown[], wanted: unknown): number {
  for (let index = 0; index < list.length; index++) {
    walkWork(1);
    if (celEquals(wanted, list[index])) return index;
  }
  return -1;
}

/** As upstream, an int equals a double when the nearest double of the int does. */
function equalNumbers(a: number | bigint, b: unknown): boolean {
  const other = numberOf(b);
  if (other === undefined) return false;
  return typeof a === typeof other ? a === other : Number(a) === Number(other);
}

function equalMaps(a: MapValue, b: MapValue): boolean {
  if (mapSize(a) !== mapSize(b)) return false;
  for (const [key, value] of mapEntries(a)) {
    walkWork(2);
    const other = mapValue(b, key);
    if (other === undefined || !celEquals(value, other)) return false;
  }
  return true;
}

function equalObjects(a: object, b: object): boolean {
  if (a instanceof Uint8Array) return b instanceof Uint8Array && equalBytes(a, b);
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos;
  if (a instanceof Type) return b instanceof Type && a.name === b.name;
  if (a instanceof Optional) return b instanceof Optional && equalOptionals(a, b);
  return a.constructor === b.constructor && isCelObject(a) && a[EQUALS](b as CelObject);
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  copyWork(a.length);
  return Buffer.compare(a, b) === 0;
}

function equalOptionals(a: Optional, b: Optional): boolean {
  return a.hasValue === b.hasValue && (!a.hasValue || celEquals(a.content, b.content));
}

/** Negative, zero or positive. Throws {@link FunctionError} for values without an order. */
export function celCompare(a: unknown, b: unknown): number {
  const found = orderOf(a, b);
  if (found !== undefined) return found;
  throw new FunctionError(Number.isNaN(a) || Number.isNaN(b) ? 'NaN values cannot be ordered' : NO_OVERLOAD);
}

/** `celCompare`, but undefined for values without an order. */
export function orderOf(a: unknown, b: unknown): number | undefined {
  const [left, right] = [numberOf(a), numberOf(b)];
  if (left !== undefined && right !== undefined) {
    if (Number.isNaN(left) || Number.isNaN(right)) return undefined;
    return typeof left === typeof right ? order(left, right) : order(Number(left), Number(right));
  }
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b);
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    copyWork(Math.min(a.length, b.length));
    return Buffer.compare(a, b);
  }
  if (a instanceof Duration && b instanceof Duration) return order(a.nanos, b.nanos);
  if (a instanceof Timestamp && b instanceof Timestamp) return order(a.nanos, b.nanos);
  return undefined;
}

function numberOf(value: unknown): number | bigint | undefined {
  if (value instanceof Uint) return value.value;
  return isNumber(value) ? value : undefined;
}

function order(a: number | bigint, b: number | bigint): number {
  return a < b ? -1 : Number(a > b);
}

/** Go compares bytes of UTF-8, in which characters of supplementary planes follow those of the basic plane. */
function compareTexts(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let at = 0;
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  copyWork(2 * at);
  if (at === end) return a.length - b.length;
  const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)];
  return order(isSurrogate(left) ? left + BEYOND : left, isSurrogate(right) ? right + BEYOND : right);
}

/** Added to surrogates so that they follow all other units. */
const BEYOND = 0x10000;

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xe000;
}

/** Whether values of this type have an order. */
export function isComparable(value: unknown): boolean {
  if (typeof value !== 'object') return value !== undefined;
  return [Uint, Uint8Array, Duration, Timestamp].some((kind) => value instanceof kind);
}
