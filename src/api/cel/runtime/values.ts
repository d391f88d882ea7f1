/**
 * Values at run time. Texts, booleans, null and doubles are JavaScript's, ints are bigints, bytes Uint8Arrays, lists arrays;
 * maps are Maps or {@link StructLike}s; all else has a class. Upstream: cel-go common/types.
 */
import { StacklessError } from '../../../base/errors.ts';
import { comparisonWork } from '../meter.ts';

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
export class FunctionError extends StacklessError {}

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
export function mapEntries(map: MapValue): Iterable<[unknown, unknown]> {
  return map instanceof Map ? (map as Map<unknown, unknown>) : structEntries(map as StructLike);
}

function* structEntries({ [FIELDS]: fields }: StructLike): Generator<[unknown, unknown]> {
  for (const key of fields.keys()) yield [key, fields.get(key)];
}

/** The objects that stand for the unsigned integer keys of a map: a Map tells objects apart, not their values. */
const UINT_KEYS = new WeakMap<ReadonlyMap<unknown, unknown>, Map<bigint, Uint>>();

/** Puts an entry into a map in the making. */
export function setEntry(map: Map<unknown, unknown>, key: unknown, value: unknown): void {
  if (!(key instanceof Uint)) {
    map.set(key, value);
    return;
  }
  const known = UINT_KEYS.get(map) ?? new Map<bigint, Uint>();
  if (known.size === 0) UINT_KEYS.set(map, known);
  const same = known.get(key.value) ?? key;
  known.set(key.value, same);
  map.set(same, value);
}

/** Takes an entry out of a map in the making. */
export function deleteEntry(map: Map<unknown, unknown>, key: unknown): void {
  map.delete(key instanceof Uint ? UINT_KEYS.get(map)?.get(key.value) : key);
}

/** A copy, which may grow. */
export function copyOfMap(map: MapValue): Map<unknown, unknown> {
  const copy = new Map(map instanceof Map ? map : mapEntries(map));
  const known = map instanceof Map ? UINT_KEYS.get(map) : undefined;
  if (known !== undefined) UINT_KEYS.set(copy, new Map(known));
  return copy;
}

/** The value of a key, or undefined. Numbers that are equal are the same key, whatever their types. */
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
