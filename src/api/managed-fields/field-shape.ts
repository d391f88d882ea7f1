// How a value is traversed: as a leaf, as an object with fields, or as a list of items with identities. As upstream, in values
// without a schema objects are granular and lists are leaves.

import { isObject } from '../codec/own-property.ts';
import type { AnySchema, ListSchema, MapSchema, StructSchema, TypeSchema } from '../schema/type-schema.ts';

/** A granular object: known fields, or keys with values of one type. */
export type ObjectShape = StructSchema | MapSchema | AnySchema;

/** The type of values without a schema. */
export const ANYTHING: AnySchema = { kind: 'any', form: 'json' };

/** The list type when the items of the list have separate owners; else undefined. */
export function granularList(type: TypeSchema): ListSchema | undefined {
  return type.kind === 'list' && type.listType !== 'atomic' ? type : undefined;
}

/** The object type when its fields have separate owners. A type without a schema is one when either value is an object. */
export function granularObject(type: TypeSchema, a: unknown, b?: unknown): ObjectShape | undefined {
  if (type.kind === 'struct' || type.kind === 'map') return type.atomic ? undefined : type;
  // As upstream, a RawExtension is owned as a whole.
  if (type.kind !== 'any' || type.form === 'object') return undefined;
  const known = (value: unknown): boolean => value === undefined || value === null || isObject(value);
  return (isObject(a) || isObject(b)) && known(a) && known(b) ? type : undefined;
}

/** The type of an object's field. */
export function childType(shape: ObjectShape, key: string): TypeSchema {
  if (shape.kind === 'map') return shape.values;
  return (shape.kind === 'struct' ? shape.fields.get(key)?.type : undefined) ?? ANYTHING;
}

/** Whether `key` is a field of the schema, rather than a key of a map. */
export function isNamedField(shape: ObjectShape, key: string): boolean {
  return shape.kind === 'struct' && shape.fields.has(key);
}
