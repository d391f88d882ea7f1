// The canonical shape of an object made in this process, equal to the result of `decodeTyped`. Parts of the input that have that
// shape, usually nearly all, are shared with it. So an update shares its unchanged parts with the old object, and code that
// compares the two (managed fields, the check for changes) skips them by identity.
// Upstream has no counterpart: its objects are Go structs.

import type { FieldSchema, ListSchema, MapSchema, StructSchema, TypeSchema } from '../schema/type-schema.ts';
import { isObject, type JsonObject, setOwn } from './own-property.ts';
import { decodeScalar } from './scalars.ts';
import { decodeTyped } from './typed.ts';
import { alwaysFieldsOf, fillAlways, isEmpty, zeroElement } from './zero-values.ts';

/** Thrown without a text; a value that does not fit its type is decoded once more for the error's text. */
class TypeMismatch extends Error {}

function misfit(): never {
  throw new TypeMismatch('a value does not fit its type');
}

/**
 * The canonical shape of an object: the result of decoding its own JSON. The input is not changed and must not change afterwards,
 * because canonical parts are shared with it. Parts that are shared with `known`, a canonical object of this type, are not
 * visited. Throws `DecodeError`.
 */
export function canonicalize(schema: StructSchema, value: unknown, known?: object): JsonObject {
  if (schema.custom === true) return decodeTyped(schema, value).object;
  try {
    return structOf(schema, value, known);
  } catch (error) {
    if (!(error instanceof TypeMismatch)) throw error;
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

/** Marks a field that is left out. */
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

/** The object with entries replaced or left out; the same object when nothing changed. */
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
