/**
 * Types of values that come from JSON: each knows its name in the language and how to turn JSON into a value. Structs turn
 * their fields when they are read. Null fields are absent. Upstream: apiserver/pkg/cel/types.go and common/values.go.
 */
import { deepEqual } from '../../base/equal.ts';
import type { DeclaredType, TypeName } from './environment.ts';
import type { CelObject } from './values.ts';
import { EQUALS, TO_JSON, dynValue } from './values.ts';

/** A type of JSON values. */
export interface ValueType {
  readonly name: TypeName;
  /** The value for JSON that is neither undefined nor null. */
  value(json: unknown): unknown;
  /** Struct types it is made of, itself included. */
  readonly declared: readonly DeclaredType[];
  /** Of structs. */
  readonly fields?: readonly StructField[];
  /** Type of a list's items or a map's values. */
  readonly inside?: ValueType;
}

function simple(name: TypeName, value: (json: unknown) => unknown): ValueType {
  return { name, value, declared: [] };
}

/** Anything, converted by its looks. */
export const DYN: ValueType = simple('dyn', dynValue);
/** Text. */
export const STRING: ValueType = simple('string', (json) => json);
/** True or false. */
export const BOOL: ValueType = simple('bool', (json) => json);
/** Whole numbers. */
export const INT: ValueType = simple('int', (json) => (typeof json === 'number' ? BigInt(Math.trunc(json)) : json));
/** Numbers with a fraction. */
export const DOUBLE: ValueType = simple('double', Number);

/** A type with a conversion of its own. */
export function scalarType(name: TypeName, value: (json: unknown) => unknown): ValueType {
  return simple(name, value);
}

/** Lists. */
export function listType(items: ValueType): ValueType {
  return {
    name: `list<${items.name}>`,
    value: (json) => (Array.isArray(json) ? json.map((item) => (item === null ? null : items.value(item))) : json),
    declared: items.declared,
    inside: items,
  };
}

/** Maps with text keys. */
export function mapType(values: ValueType): ValueType {
  return {
    name: `map<string, ${values.name}>`,
    value(json) {
      const map = new Map<string, unknown>();
      for (const [key, item] of Object.entries(json as object)) {
        if (item !== undefined) map.set(key, item === null ? null : values.value(item));
      }
      return map;
    },
    declared: values.declared,
    inside: values,
  };
}

/** One field of a struct: its name in the language, in JSON, its type. */
export interface StructField {
  readonly name: string;
  readonly json: string;
  readonly type: ValueType;
}

/** The one name a field cannot be read by: the evaluator tells classes of values by it. */
export const UNSPEAKABLE = 'constructor';

/** An object with known fields. */
export function structType(name: TypeName, given: readonly StructField[]): ValueType {
  const ctor = class extends StructValue {};
  const fields = given.filter(({ name: field }) => field !== UNSPEAKABLE);
  for (const { name: field, json, type } of fields) {
    Object.defineProperty(ctor.prototype, field, {
      get(this: StructValue) {
        return StructValue.read(this, json, type);
      },
    });
  }
  const own: DeclaredType = { name, ctor, fields: Object.fromEntries(fields.map((f) => [f.name, f.type.name])) };
  const declared = [...fields.flatMap((f) => f.type.declared), own];
  return { name, value: (json) => new ctor(json as object), declared, fields };
}

class StructValue implements CelObject {
  readonly #json: Readonly<Record<string, unknown>>;
  #read: Map<string, unknown> | undefined;

  constructor(json: object) {
    this.#json = json as Record<string, unknown>;
  }

  /** Static, for the prototype belongs to the fields. */
  static read(struct: StructValue, field: string, type: ValueType): unknown {
    const json = Object.hasOwn(struct.#json, field) ? struct.#json[field] : undefined;
    if (json === undefined || json === null) return undefined;
    if (typeof json !== 'object') return type.value(json);
    const known = struct.#read?.get(field);
    if (known !== undefined) return known;
    const value = type.value(json);
    (struct.#read ??= new Map()).set(field, value);
    return value;
  }

  [EQUALS](other: StructValue): boolean {
    return deepEqual(this.#json, other.#json);
  }

  [TO_JSON](): unknown {
    return this.#json;
  }
}

/** Fields whose names in the language are those in JSON. */
export function structOf(name: TypeName, fields: Readonly<Record<string, ValueType>>): ValueType {
  return structType(
    name,
    Object.entries(fields).map(([field, type]) => ({ name: field, json: field, type })),
  );
}
