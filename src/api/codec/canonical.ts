// The canonical shape of an object made in this process, as `decodeTyped` gives it, sharing with the input whatever has
// that shape already: mostly everything. So an update shares what it did not touch with the object before it, and whoever
// compares the two (managed fields, "did anything change?") passes over the rest by identity.
//
// Upstream has no counterpart: its objects are Go structs.

import type { FieldSchema, ListSchema, MapSchema, StructSchema, TypeSchema } from '../schema/type-schema.ts';
import { isObject, type JsonObject, setOwn } from './own-property.ts';
import { decodeScalar } from './scalars.ts';
import { decodeTyped } from './typed.ts';
import { alwaysFieldsOf, fillAlways, isEmpty, zeroElement } from './zero-values.ts';

/** Says nothing: what does not fit its type is decoded once more, for the error's text. */
class Misfit extends Error {}

function misfit(): never {
  throw new Misfit('a value does not fit its type');
}

/**
 * The canonical shape of an object: what decoding its own JSON would give. Never changes the input and shares with it what
 * is canonical; the input must not change any more either. What it shares with `known`, an object of this type in canonical
 * shape, is not looked at. Throws `DecodeError`.
 */
export function canonicalize(schema: StructSchema, value: unknown, known?: object): JsonObject {
  if (schema.custom === true) return decodeTyped(schema, value).object;
  try {
    return structOf(schema, value, known);
  } catch (error) {
    if (!(error instanceof Misfit)) throw error;
    return decodeTyped(schema, value).object;
  }
}

function valueOf(type: TypeSchema, value: unknown, known?: unknown): unknown {
  switch (type.kind) {
    case 'scalar':
      if (typeof value === 'string' && type.scalar === 'string') return value;
      return decodeScalar(type.scalar, value, misfit);
    case 'struct':
      return structOf(type, value, known);
    case 'list':
      return listOf(type, value);
    case 'map':
      return mapOf(type, value);
    case 'any':
      return type.form.startsWith('schemaOr') ? misfit() : value;
  }
}

/** Stands for a field that is left out. */
const absent = Symbol('absent');

function structOf(schema: StructSchema, value: unknown, known?: unknown): JsonObject {
  if (!isObject(value)) misfit();
  const like = isObject(known) ? known : undefined;
  const out = withEntries(value, (key, item) => {
    const same = typeof item === 'object' ? like?.[key] : undefined;
    if (same !== undefined && same === item && Object.hasOwn(like!, key)) return item;
    const field = schema.fields.get(key);
    if (field !== undefined) return fieldOf(field, item, same);
    return schema.preserveUnknown ? item : absent;
  });
  for (const { name } of alwaysFieldsOf(schema)) {
    if (Object.hasOwn(out, name)) continue;
    const filled = out === value ? { ...value } : out;
    fillAlways(schema, filled);
    return filled;
  }
  return out;
}

function fieldOf(field: FieldSchema, item: unknown, known: unknown): unknown {
  if (item === undefined) return absent;
  if (item === null) return field.nullable ? null : absent;
  const decoded = valueOf(field.type, item, known);
  return field.omitempty && !field.pointer && isEmpty(field.type, decoded) ? absent : decoded;
}

function mapOf(type: MapSchema, value: unknown): JsonObject {
  if (!isObject(value)) misfit();
  return withEntries(value, (_, item) => {
    if (item === undefined) return absent;
    return item === null ? zeroElement(type.values) : valueOf(type.values, item);
  });
}

/** The object with its entries replaced or left out; the same object when none was. */
function withEntries(value: JsonObject, change: (key: string, item: unknown) => unknown): JsonObject {
  let out: JsonObject | undefined;
  const keys = Object.keys(value);
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index]!;
    const item = value[key];
    const changed = change(key, item);
    if (out === undefined) {
      if (changed === item && item !== undefined) continue;
      out = {};
      for (const before of keys.slice(0, index)) setOwn(out, before, value[before]);
    }
    if (changed !== absent) setOwn(out, key, changed);
  }
  return out ?? value;
}

function listOf(type: ListSchema, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) misfit();
  let out: unknown[] | undefined;
  for (let index = 0; index < value.length; index++) {
    const item: unknown = value[index];
    const changed = item === null || item === undefined ? zeroElement(type.items) : valueOf(type.items, item);
    if (changed !== item) out ??= value.slice(0, index);
    out?.push(changed);
  }
  return out ?? value;
}
