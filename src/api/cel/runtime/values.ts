/**
 * Values at run time. Texts, booleans, null and doubles are JavaScript's, ints are bigints, bytes Uint8Arrays, lists arrays;
 * maps are Maps or {@link StructLike}s; all else has a class. Upstream: cel-go common/types.
 */

/** Key of {@link CelObject}'s equality: a symbol, for fields of schemas may have any name. */
export const EQUALS: unique symbol = Symbol('equals');
/** Key of {@link CelObject}'s JSON. */
export const TO_JSON: unique symbol = Symbol('toJson');
/** Key of {@link CelObject}'s type name. */
export const TYPE_NAME: unique symbol = Symbol('typeName');
/** Key of {@link StructLike}'s fields. */
export const FIELDS: unique symbol = Symbol('fields');

/** An object of a type of a library: quantity, IP, URL … */
export interface CelObject {
  readonly [TYPE_NAME]: string;
  /** Whether both are the same value; `other` is of the same class. */
  [EQUALS](other: CelObject): boolean;
  /** What stands for it in JSON. */
  [TO_JSON](): unknown;
}

/** A map whose values are made when they are read. */
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

/** A moment: nanoseconds since 1970. */
export class Timestamp {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** A value that may be absent. */
export class Optional {
  static readonly none = new Optional(undefined);
  /** Undefined when absent. */
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
export class FunctionError extends Error {}

/** A failed evaluation as a value: operators such as `||` may go on without it. */
export class Failure {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

export const NO_OVERLOAD = 'no such overload';

/** Whether a value is of a type of a library. */
export function isCelObject(value: unknown): value is CelObject {
  return typeof value === 'object' && value !== null && EQUALS in value;
}

function isStructLike(value: unknown): value is StructLike {
  return typeof value === 'object' && value !== null && FIELDS in value;
}

export type MapValue = ReadonlyMap<unknown, unknown> | StructLike;

/** Whether a value is a map of the language. */
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
export function* mapEntries(map: MapValue): Generator<[unknown, unknown]> {
  for (const key of mapKeys(map)) yield [key, mapValue(map, key)];
}

/** The value of a key, or undefined. Numbers that are equal are the same key, whatever their types. */
export function mapValue(map: MapValue, key: unknown): unknown {
  if (!(map instanceof Map)) return typeof key === 'string' ? (map as StructLike)[FIELDS].get(key) : undefined;
  const found = map.get(key);
  if (found !== undefined || typeof key === 'string' || typeof key === 'boolean') return found;
  const number = key instanceof Uint ? key.value : wholeNumber(key);
  if (number === undefined) return undefined;
  const same = map.get(number);
  if (same !== undefined) return same;
  for (const [other, value] of map) if (other instanceof Uint && other.value === number) return value;
  return undefined;
}

function wholeNumber(key: unknown): bigint | undefined {
  if (typeof key === 'bigint') return key;
  return typeof key === 'number' && Number.isInteger(key) ? BigInt(key) : undefined;
}
