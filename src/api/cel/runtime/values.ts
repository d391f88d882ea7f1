/**
 * Values at run time. Texts, booleans, null and doubles are JavaScript's, ints are bigints, bytes Uint8Arrays, lists arrays; maps
 * are Maps or {@link StructLike}s; all other types have a class. Upstream: cel-go common/types.
 */
import { StacklessError } from '../../../base/errors.ts';
import { comparisonWork } from '../meter.ts';

/** Key of {@link CelObject}'s equality. It is a symbol because a schema's field may have any name. */
export const EQUALS: unique symbol = Symbol('equals');
/** Key of {@link CelObject}'s JSON. */
export const TO_JSON: unique symbol = Symbol('toJson');
/** Key of {@link CelObject}'s type name. */
export const TYPE_NAME: unique symbol = Symbol('typeName');
/** Key of {@link StructLike}'s fields. */
export const FIELDS: unique symbol = Symbol('fields');

/** A value of a library's type: quantity, IP, URL … */
export interface CelObject {
  readonly [TYPE_NAME]: string;
  /** Whether both are equal; `other` has the same class. */
  [EQUALS](other: CelObject): boolean;
  /** The value in JSON. Values of library types are texts there. */
  [TO_JSON](): unknown;
}

/** A map whose values are converted when they are read. */
export interface StructLike {
  readonly [FIELDS]: {
    get(name: string): unknown;
    keys(): Iterable<string>;
    readonly size: number;
  };
}

/** An unsigned integer. */
export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

/** A span of time. */
export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** A moment in nanoseconds since 1970. */
export class Timestamp {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** A value that may be absent. */
export class Optional {
  static readonly none = new Optional(undefined);
  /** Undefined for an absent value. */
  readonly content: unknown;

  private constructor(content: unknown) {
    this.content = content;
  }

  static of(content: unknown): Optional {
    return new Optional(content);
  }

  get hasValue(): boolean {
    return this.content !== undefined;
  }
}

/** A failure inside a function, with upstream's text. */
export class FunctionError extends StacklessError {}

/** A failed evaluation as a value: operators such as `||` may continue after it. */
export class Failure {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

export const NO_OVERLOAD = 'no such overload';

/** Whether a value has a library's type. */
export function isCelObject(value: unknown): value is CelObject {
  return typeof value === 'object' && value !== null && EQUALS in value;
}

function isStructLike(value: unknown): value is StructLike {
  return typeof value === 'object' && value !== null && FIELDS in value;
}

export type MapValue = ReadonlyMap<unknown, unknown> | StructLike;

/** Whether a value is a map or struct. */
export function isMapValue(value: unknown): value is MapValue {
  return value instanceof Map || isStructLike(value);
}

/** Keys in order. */
export function mapKeys(map: MapValue): Iterable<unknown> {
  return map instanceof Map ? map.keys() : (map as StructLike)[FIELDS].keys();
}

/** Number of entries. */
export function mapSize(map: MapValue): number {
  return map instanceof Map ? map.size : (map as StructLike)[FIELDS].size;
}

/** Entries in order. */
export function mapEntries(map: MapValue): Iterable<[unknown, unknown]> {
  return map instanceof Map ? (map as Map<unknown, unknown>) : structEntries(map as StructLike);
}

function* structEntries({ [FIELDS]: fields }: StructLike): Generator<[unknown, unknown]> {
  for (const key of fields.keys()) yield [key, fields.get(key)];
}

/** Objects that represent the unsigned integer keys of a map: a Map compares objects by identity, not by value. */
const UINT_KEYS = new WeakMap<ReadonlyMap<unknown, unknown>, Map<bigint, Uint>>();

/** Adds an entry to a map under construction. */
export function setEntry(map: Map<unknown, unknown>, key: unknown, value: unknown): void {
  if (!(key instanceof Uint)) {
    map.set(key, value);
    return;
  }
  const uintKeys = UINT_KEYS.get(map) ?? new Map<bigint, Uint>();
  if (uintKeys.size === 0) UINT_KEYS.set(map, uintKeys);
  const same = uintKeys.get(key.value) ?? key;
  uintKeys.set(key.value, same);
  map.set(same, value);
}

/** Removes an entry from a map under construction. */
export function deleteEntry(map: Map<unknown, unknown>, key: unknown): void {
  map.delete(key instanceof Uint ? UINT_KEYS.get(map)?.get(key.value) : key);
}

/** A copy that may be changed. */
export function copyOfMap(map: MapValue): Map<unknown, unknown> {
  const copy = new Map(map instanceof Map ? map : mapEntries(map));
  const uintKeys = map instanceof Map ? UINT_KEYS.get(map) : undefined;
  if (uintKeys !== undefined) UINT_KEYS.set(copy, new Map(uintKeys));
  return copy;
}

/** The value of a key, or undefined. Equal numbers of different types are the same key. */
export function mapValue(map: MapValue, key: unknown): unknown {
  if (typeof key === 'string') comparisonWork(key);
  if (!(map instanceof Map)) return typeof key === 'string' ? (map as StructLike)[FIELDS].get(key) : undefined;
  if (typeof key === 'string' || typeof key === 'boolean') return map.get(key);
  const number = key instanceof Uint ? key.value : wholeNumber(key);
  if (number === undefined) return map.get(key);
  const uint = UINT_KEYS.get(map)?.get(number);
  for (const same of key instanceof Uint ? [uint, number] : [key, number, uint]) {
    const found = same === undefined ? undefined : map.get(same);
    if (found !== undefined) return found;
  }
  return undefined;
}

function wholeNumber(key: unknown): bigint | undefined {
  if (typeof key === 'bigint') return key;
  return typeof key === 'number' && Number.isInteger(key) ? BigInt(key) : undefined;
}
