/**
 * Types of values that come from JSON: each has its CEL type and converts JSON to a value. Structs convert a field when it is
 * read. Null fields are absent. Upstream: apiserver/pkg/cel/types.go and common/values.go.
 */
import { KeyedList, type KeyOf } from './runtime/keyed-list.ts';
import { FIELDS, type StructLike, TO_JSON } from './runtime/values.ts';
import {
  BOOL_TYPE,
  DOUBLE_TYPE,
  DYN_TYPE,
  INT_TYPE,
  listOf,
  mapOf,
  STRING_TYPE,
  structTypeOf,
  type Type,
} from './types/type.ts';
import { dynValue } from './values.ts';

/** A type of JSON values. */
export interface ValueType {
  readonly type: Type;
  /** Converts JSON that is neither undefined nor null. */
  value(json: unknown): unknown;
  /** Values are parsed from texts, such as timestamps: each is converted once. */
  readonly isConverted?: boolean;
  readonly fields?: readonly StructField[];
  /** The type of a list's items or a map's values. */
  readonly inside?: ValueType;
}

function simple(type: Type, value: (json: unknown) => unknown): ValueType {
  return { type, value };
}

/** Any value; its CEL type follows from the JSON value. */
export const DYN: ValueType = simple(DYN_TYPE, dynValue);
export const STRING: ValueType = simple(STRING_TYPE, (json) => json);
export const BOOL: ValueType = simple(BOOL_TYPE, (json) => json);
export const INT: ValueType = simple(INT_TYPE, (json) => (typeof json === 'number' ? BigInt(Math.trunc(json)) : json));
export const DOUBLE: ValueType = simple(DOUBLE_TYPE, Number);

/** A type with a conversion of its own. */
export function scalarType(type: Type, value: (json: unknown) => unknown): ValueType {
  return { type, value, isConverted: true };
}

export function listType(items: ValueType): ValueType {
  return {
    type: listOf(items.type),
    value: (json) => (Array.isArray(json) ? json.map((item) => (item === null ? null : items.value(item))) : json),
    inside: items,
  };
}

/** The type of lists in which order does not matter. */
export function keyedListType(items: ValueType, keyOf: KeyOf): ValueType {
  const plain = listType(items);
  return {
    ...plain,
    value(json) {
      const list = plain.value(json);
      return Array.isArray(list) ? KeyedList.withKeys(list, keyOf) : list;
    },
  };
}

/** The type of maps with text keys. */
export function mapType(values: ValueType): ValueType {
  return {
    type: mapOf(STRING_TYPE, values.type),
    value(json) {
      const map = new Map<string, unknown>();
      for (const [key, item] of Object.entries(json as object)) {
        if (item !== undefined) map.set(key, item === null ? null : values.value(item));
      }
      return map;
    },
    inside: values,
  };
}

/** One field of a struct: its name in the language, its name in JSON, its type. */
export interface StructField {
  readonly name: string;
  readonly json: string;
  readonly type: ValueType;
}

/** The type of objects with known fields. */
export function structType(name: string, fields: readonly StructField[]): ValueType {
  const byName = new Map(fields.map((field) => [field.name, field]));
  const type = structTypeOf(name, (field) => byName.get(field)?.type.type);
  return { type, fields, value: (json) => new StructValue(json as Json, byName) };
}

type Json = Readonly<Record<string, unknown>>;

class StructValue implements StructLike {
  readonly #json: Json;
  readonly #fields: ReadonlyMap<string, StructField>;
  readonly #read = new Map<string, unknown>();
  #size: number | undefined;

  constructor(json: Json, fields: ReadonlyMap<string, StructField>) {
    this.#json = json;
    this.#fields = fields;
  }

  get [FIELDS](): StructLike[typeof FIELDS] {
    return this;
  }

  get(name: string): unknown {
    const field = this.#fields.get(name);
    if (field === undefined || !Object.hasOwn(this.#json, field.json)) return undefined;
    const json = this.#json[field.json];
    if (json === undefined || json === null) return undefined;
    if (typeof json !== 'object' && field.type.isConverted !== true) return field.type.value(json);
    const cached = this.#read.get(name);
    if (cached !== undefined) return cached;
    const value = field.type.value(json);
    this.#read.set(name, value);
    return value;
  }

  *keys(): Iterable<string> {
    for (const name of this.#fields.keys()) if (this.get(name) !== undefined) yield name;
  }

  get size(): number {
    return (this.#size ??= Object.keys(this.#json).length);
  }

  [TO_JSON](): unknown {
    return this.#json;
  }
}

/** The type of objects whose fields have the same names in the language and in JSON. */
export function structOf(name: string, fields: Readonly<Record<string, ValueType>>): ValueType {
  return structType(
    name,
    Object.entries(fields).map(([field, type]) => ({ name: field, json: field, type })),
  );
}
