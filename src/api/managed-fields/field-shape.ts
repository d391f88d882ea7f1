// How a value is walked: as one leaf, as an object with fields, or as a list of identified items. Values of unknown
// shape are deduced as upstream does: objects are granular, lists are leaves.

import { isObject } from '../codec/own-property.ts';
import type { AnySchema, ListSchema, MapSchema, StructSchema, TypeSchema } from '../schema/type-schema.ts';

/** A granular object: known fields, or keys with values of one type. */
export type ObjectShape = StructSchema | MapSchema | AnySchema;

/** The type of what no schema names. */
export const ANYTHING: AnySchema = { kind: 'any', form: 'json' };

/** The list whose items are walked, if this type is one. */
export function granularList(type: TypeSchema): ListSchema | undefined {
  return type.kind === 'list' && type.listType !== 'atomic' ? type : undefined;
}

/** The object whose fields are walked, if the type is one, or is unknown and a value is one. */
export function granularObject(type: TypeSchema, a: unknown, b?: unknown): ObjectShape | undefined {
  if (type.kind === 'struct' || type.kind === 'map') return type.atomic ? undefined : type;
  // Upstream has no fields within a RawExtension: it is owned as a whole.
  if (type.kind !== 'any' || type.form === 'object') return undefined;
  const known = (value: unknown): boolean => value === undefined || value === null || isObject(value);
  return (isObject(a) || isObject(b)) && known(a) && known(b) ? type : undefined;
}

/** The type of an object's field. */
export function childType(shape: ObjectShape, key: string): TypeSchema {
  if (shape.kind === 'map') return shape.values;
  return (shape.kind === 'struct' ? shape.fields.get(key)?.type : undefined) ?? ANYTHING;
}

/** Whether `key` is a field the schema names, rather than a key of a map. */
export function isNamedField(shape: ObjectShape, key: string): boolean {
  return shape.kind === 'struct' && shape.fields.has(key);
}
