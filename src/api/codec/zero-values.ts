// Zero values of Go's types: the fields that upstream's structs always write, and their values.
import type { FieldSchema, StructSchema, TypeSchema } from '../schema/type-schema.ts';
import { type JsonObject, setOwn } from './own-property.ts';

/**
 * Whether Go's omitempty drops the value: false, 0, "", and lists and maps without elements; never structs. IntOrString is a
 * struct, but its zero means unset wherever it is no pointer (a service port's target), so it is dropped here.
 */
export function isEmpty(type: TypeSchema, value: unknown): boolean {
  switch (type.kind) {
    case 'scalar':
      if (type.scalar === 'quantity') return false;
      return value === '' || value === 0 || value === false;
    case 'list':
      return (value as unknown[]).length === 0;
    case 'map':
      return Object.keys(value as JsonObject).length === 0;
    default:
      return false;
  }
}

const alwaysFields = new WeakMap<StructSchema, readonly FieldSchema[]>();

/** The fields that Go writes even when they are absent. */
export function alwaysFieldsOf(schema: StructSchema): readonly FieldSchema[] {
  let fieldSchemas = alwaysFields.get(schema);
  if (fieldSchemas === undefined) {
    fieldSchemas = [...schema.fields.values()].filter((f) => !f.pointer && zeroOf(f) !== undefined);
    alwaysFields.set(schema, fieldSchemas);
  }
  return fieldSchemas;
}

/** Adds absent fields that Go always writes. */
export function fillAlways(schema: StructSchema, out: JsonObject): void {
  for (const field of alwaysFieldsOf(schema))
    if (!Object.hasOwn(out, field.name)) setOwn(out, field.name, zeroOf(field));
}

/** The zero value of an absent field; undefined when the field stays absent. */
function zeroOf(field: FieldSchema): unknown {
  const { type } = field;
  if (type.kind === 'struct') return zeroStruct(type);
  if (type.kind === 'scalar' && type.scalar === 'quantity') return '0';
  if (field.omitempty || field.pb.length === 0) return undefined;
  if (type.kind === 'list') return [];
  if (type.kind === 'map') return {};
  return type.kind === 'scalar' ? zeroScalar(type.scalar) : undefined;
}

function zeroScalar(scalar: string): unknown {
  if (scalar === 'string' || scalar === 'bytes') return '';
  if (scalar === 'boolean') return false;
  return ['int32', 'int64', 'double', 'intOrString'].includes(scalar) ? 0 : undefined;
}

/** The zero value of a struct as Go writes it. */
export function zeroStruct(schema: StructSchema): JsonObject {
  const out: JsonObject = {};
  fillAlways(schema, out);
  return out;
}

/** The zero value that replaces a null element of a list or map. */
export function zeroElement(type: TypeSchema): unknown {
  if (type.kind === 'struct') return zeroStruct(type);
  if (type.kind === 'list') return [];
  if (type.kind === 'map') return {};
  if (type.kind !== 'scalar') return null;
  return type.scalar === 'quantity' ? '0' : (zeroScalar(type.scalar) ?? null);
}
