// Encodes JSON objects as protobuf messages with the same bytes as upstream's generated code: fields that are no pointers are
// written even when zero, and so are embedded and plain structs; map entries are sorted by key.

import type { AnySchema, FieldSchema, ScalarName, StructSchema, TypeSchema } from '../schema/type-schema.ts';
import { typeSchema } from '../schema/schema.ts';
import { stringifyJson } from './json.ts';
import { isObject, type JsonObject } from './own-property.ts';
import { planOf, type PbPlan } from './pb-plan.ts';
import { PbError } from './pb-reader.ts';
import { PbWriter, VARINT_TYPE } from './pb-writer.ts';
import { parseMoment } from './time-text.ts';

/** Throws {@link PbError} when a value does not fit its field. */
export function encodeMessage(schema: StructSchema, object: unknown): Uint8Array {
  const writer = new PbWriter();
  writeStruct(writer, schema, object);
  return writer.finish();
}

/** Writes a struct's content without tag or length. */
export function writeStruct(w: PbWriter, schema: StructSchema, value: unknown): void {
  const object = value ?? {};
  if (!isObject(object)) throw new PbError(`${schema.name}: not an object`);
  writePlan(w, planOf(schema), object);
}

function writePlan(w: PbWriter, plan: PbPlan, object: JsonObject): void {
  for (const { number, field, inline } of plan.descending) {
    if (inline !== undefined) {
      const before = w.length;
      writePlan(w, inline, object);
      w.message(number, before);
    } else {
      writeField(w, number, { field, value: Object.hasOwn(object, field.name) ? object[field.name] : undefined });
    }
  }
}

function writeField(w: PbWriter, number: number, { field, value }: { field: FieldSchema; value: unknown }): void {
  const { type } = field;
  const absent = value === undefined || value === null;
  if (type.kind === 'list') {
    if (absent) return;
    if (field.pbWrapped) writeWrapped(w, number, value as unknown[]);
    else writeList(w, number, { items: type.items, value });
  } else if (type.kind === 'map') {
    if (!absent) writeMap(w, number, { values: type.values, value, wrapped: field.pbWrapped });
  } else if (!absent) {
    writeValue(w, number, { type, value });
  } else if (!field.pointer) {
    writeZero(w, number, type);
  }
}

interface Typed {
  type: TypeSchema;
  value: unknown;
}

function writeList(w: PbWriter, number: number, { items, value }: { items: TypeSchema; value: unknown }): void {
  if (!Array.isArray(value)) throw new PbError(`field ${number}: not a list`);
  for (let i = value.length - 1; i >= 0; i--) writeValue(w, number, { type: items, value: value[i] as unknown });
}

/** Writes a list of strings as a message of its own: `{ repeated string items = 1 }`. */
function writeWrapped(w: PbWriter, number: number, value: readonly unknown[]): void {
  const before = w.length;
  for (let i = value.length - 1; i >= 0; i--) w.string(1, String(value[i]));
  w.message(number, before);
}

interface MapValue {
  values: TypeSchema;
  value: unknown;
  wrapped: boolean;
}

function writeMap(w: PbWriter, number: number, { values, value, wrapped }: MapValue): void {
  if (!isObject(value)) throw new PbError(`field ${number}: not an object`);
  for (const key of Object.keys(value).sort().reverse()) {
    const before = w.length;
    if (wrapped) writeWrapped(w, 2, value[key] as unknown[]);
    else if (value[key] === null) writeZero(w, 2, values);
    else writeValue(w, 2, { type: values, value: value[key] });
    w.string(1, key);
    w.message(number, before);
  }
}

function writeValue(w: PbWriter, number: number, { type, value }: Typed): void {
  if (type.kind === 'scalar') {
    writeScalar(w, number, { scalar: type.scalar, value });
    return;
  }
  const before = w.length;
  if (type.kind === 'struct') writeStruct(w, type, value);
  else if (type.kind === 'any') writeAny(w, type, value);
  else throw new PbError(`field ${number}: nested ${type.kind} has no wire form`);
  w.message(number, before);
}

function writeZero(w: PbWriter, number: number, type: TypeSchema): void {
  if (type.kind !== 'scalar') {
    const before = w.length;
    if (type.kind === 'struct') writeStruct(w, type, {});
    w.message(number, before);
  } else if (type.scalar === 'time' || type.scalar === 'microTime') {
    w.message(number, w.length);
  } else if (type.scalar !== 'bytes') {
    writeScalar(w, number, { scalar: type.scalar, value: ZEROES[type.scalar] });
  }
}

const ZEROES = { string: '', boolean: false, int32: 0, int64: 0, double: 0, quantity: '0', intOrString: 0 };

function writeScalar(w: PbWriter, number: number, { scalar, value }: { scalar: ScalarName; value: unknown }): void {
  const before = w.length;
  switch (scalar) {
    case 'string':
      return w.string(number, String(value));
    case 'bytes':
      return w.bytes(number, Buffer.from(String(value), 'base64'));
    case 'boolean':
      w.varint(value === true ? 1 : 0);
      return w.tag(number, VARINT_TYPE);
    case 'int32':
    case 'int64':
      w.varint(integer(value));
      return w.tag(number, VARINT_TYPE);
    case 'double':
      return w.double(number, Number(value));
    case 'quantity':
      w.string(1, String(value));
      return w.message(number, before);
    case 'time':
    case 'microTime':
      writeTime(w, value, scalar);
      return w.message(number, before);
    case 'intOrString':
      writeIntOrString(w, value);
      return w.message(number, before);
  }
}

function integer(value: unknown): number | bigint {
  if (typeof value === 'bigint') return value;
  if (!Number.isInteger(value)) throw new PbError(`${String(value)} is not an integer`);
  return value as number;
}

function writeTime(w: PbWriter, value: unknown, scalar: 'time' | 'microTime'): void {
  const moment = typeof value === 'string' ? parseMoment(value) : undefined;
  if (moment === undefined) throw new PbError(`${String(value)} is not a time`);
  w.varint(scalar === 'time' ? 0 : Math.floor(moment.nanos / 1000) * 1000);
  w.tag(2, VARINT_TYPE);
  w.varint(moment.seconds);
  w.tag(1, VARINT_TYPE);
}

function writeIntOrString(w: PbWriter, value: unknown): void {
  const text = typeof value === 'string';
  w.string(3, text ? value : '');
  w.varint(text ? 0 : integer(value));
  w.tag(2, VARINT_TYPE);
  w.varint(text ? 1 : 0);
  w.tag(1, VARINT_TYPE);
}

function writeAny(w: PbWriter, type: AnySchema, value: unknown): void {
  if (value === null || value === undefined) return;
  const schema = typeSchema('apiextensions.v1.JSONSchemaProps');
  if (type.form === 'schemaOrBool') {
    if (isObject(value)) writeValue(w, 2, { type: schema, value });
    w.varint(value === false ? 0 : 1);
    w.tag(1, VARINT_TYPE);
  } else if (type.form === 'schemaOrArray' || type.form === 'schemaOrStringArray') {
    const items = type.form === 'schemaOrArray' ? schema : typeSchema('string');
    if (Array.isArray(value)) writeList(w, 2, { items, value });
    else writeValue(w, 1, { type: schema, value });
  } else {
    w.bytes(1, Buffer.from(stringifyJson(value)));
  }
}
