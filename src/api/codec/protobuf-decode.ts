// Decodes protobuf messages to JSON objects in the shape of upstream's JSON: zero values that omitempty drops are dropped, those
// behind pointers are kept, and fields that the sender left out get Go's zero values. Unknown numbers are skipped.

import type { AnySchema, FieldSchema, ScalarName, StructSchema, TypeSchema } from '../schema/type-schema.ts';
import { typeSchema } from '../schema/schema.ts';
import { MAX_DEPTH } from './json-parser.ts';
import { parseJson } from './json.ts';
import { type JsonObject, setOwn } from './own-property.ts';
import { type PbPlan, planOf } from './pb-plan.ts';
import type { PartBudget } from './parts.ts';
import { PbError, PbReader } from './pb-reader.ts';
import { BYTES_TYPE } from './pb-writer.ts';
import { formatMoment } from './time-text.ts';
import { fillAlways, isEmpty, zeroElement } from './zero-values.ts';

/** Decodes the value of a RawExtension that is itself an envelope; see protobuf.ts. */
export type DecodeNested = (bytes: Uint8Array) => unknown;

interface Context {
  readonly r: PbReader;
  readonly nested: DecodeNested;
  readonly budget: PartBudget | undefined;
  depth: number;
}

/** The object of a message. Throws {@link PbError}, and 413 when the budget is exceeded. */
export function decodeMessage(
  schema: StructSchema,
  bytes: Uint8Array,
  { nested, budget }: { nested: DecodeNested; budget?: PartBudget | undefined },
): JsonObject {
  return readStruct({ r: new PbReader(bytes), nested, budget, depth: 0 }, schema);
}

function readStruct(c: Context, schema: StructSchema): JsonObject {
  if (++c.depth > MAX_DEPTH) throw new PbError('exceeded max depth');
  c.budget?.take(1); // Counted also when it replaces an element that was read before.
  const out: JsonObject = {};
  readPlan(c, planOf(schema), out);
  fillAlways(schema, out);
  c.depth--;
  return out;
}

function readPlan(c: Context, plan: PbPlan, out: JsonObject): void {
  const { r } = c;
  while (r.at < r.end) {
    const tag = r.uint32();
    const slot = plan.byNumber.get(Math.floor(tag / 8));
    const wireType = tag & 7;
    if (slot === undefined) r.skip(wireType);
    else if (slot.inline === undefined) readField(c, slot.field, { out, wireType });
    else {
      expect(wireType, BYTES_TYPE, 'embedded message');
      r.message(() => readPlan(c, slot.inline, out));
    }
  }
}

function expect(wireType: number, wanted: number, what: string): void {
  if (wireType !== wanted) throw new PbError(`proto: wrong wireType = ${wireType} for field ${what}`);
}

function readField(c: Context, field: FieldSchema, { out, wireType }: { out: JsonObject; wireType: number }): void {
  const { type, name } = field;
  if (type.kind === 'list') {
    if (field.pbWrapped) setOwn(out, name, readWrapped(c));
    else {
      const list = listAt(out, name);
      c.budget?.takeOf(list);
      readElements(c, type.items, { list, wireType });
    }
  } else if (type.kind === 'map') {
    const map = mapAt(out, name);
    c.budget?.takeOf(map);
    readEntry(c, field, map);
  } else {
    const value = readValue(c, type, { name, wireType });
    if (value === undefined || (field.omitempty && !field.pointer && isEmpty(type, value))) delete out[name];
    else out[name] = value;
  }
}

function listAt(out: JsonObject, name: string): unknown[] {
  return (out[name] ??= []) as unknown[];
}

function mapAt(out: JsonObject, name: string): JsonObject {
  return (out[name] ??= {}) as JsonObject;
}

function readWrapped(c: Context): string[] {
  const items: string[] = [];
  c.r.message(() => {
    while (c.r.at < c.r.end) {
      const tag = c.r.uint32();
      if (tag === 10) {
        c.budget?.takeOf(items);
        items.push(c.r.string());
      } else c.r.skip(tag & 7);
    }
  });
  return items;
}

/** Reads one element, or several packed ones. */
function readElements(c: Context, items: TypeSchema, { list, wireType }: { list: unknown[]; wireType: number }): void {
  const numeric = items.kind === 'scalar' && ['int32', 'int64', 'boolean', 'double'].includes(items.scalar);
  if (!numeric || wireType !== BYTES_TYPE) {
    list.push(readValue(c, items, { name: 'element', wireType }) ?? null);
    return;
  }
  const own = items.scalar === 'double' ? 1 : 0;
  c.r.message(() => {
    c.budget?.takeAll(c.r.end - c.r.at);
    while (c.r.at < c.r.end) list.push(readScalar(c.r, items.scalar, { name: 'element', wireType: own }));
  });
}

function readEntry(c: Context, field: FieldSchema, map: JsonObject): void {
  const values = field.type.kind === 'map' ? field.type.values : field.type;
  let key = '';
  let value: unknown;
  c.r.message(() => {
    while (c.r.at < c.r.end) {
      const tag = c.r.uint32();
      if (tag === 10) key = c.r.string();
      else if (tag >>> 3 !== 2) c.r.skip(tag & 7);
      else value = field.pbWrapped ? readWrapped(c) : readValue(c, values, { name: field.name, wireType: tag & 7 });
    }
  });
  setOwn(map, key, value ?? zeroElement(values));
}

interface FieldTag {
  name: string;
  wireType: number;
}

function readValue(c: Context, type: TypeSchema, where: FieldTag): unknown {
  if (type.kind === 'scalar') return readScalar(c.r, type.scalar, where);
  expect(where.wireType, BYTES_TYPE, where.name);
  if (type.kind === 'struct') return c.r.message(() => readStruct(c, type));
  if (type.kind === 'any') return c.r.message(() => readAny(c, type));
  throw new PbError(`${where.name}: nested ${type.kind} has no wire form`);
}

const WIRE_TYPES: Record<ScalarName, number> = {
  string: 2,
  bytes: 2,
  quantity: 2,
  time: 2,
  microTime: 2,
  intOrString: 2,
  boolean: 0,
  int32: 0,
  int64: 0,
  double: 1,
};

function readScalar(r: PbReader, scalar: ScalarName, { name, wireType }: FieldTag): unknown {
  expect(wireType, WIRE_TYPES[scalar], name);
  switch (scalar) {
    case 'string':
      return r.string();
    case 'bytes':
      return r.bytes().toString('base64');
    case 'boolean':
      return r.int64() !== 0;
    case 'int32':
      return Number(BigInt.asIntN(32, BigInt(r.int64())));
    case 'int64':
      return r.int64();
    case 'double':
      return r.double();
    case 'quantity':
      return r.message(() => readNumbers(r).strings.get(1) ?? '0');
    case 'time':
    case 'microTime':
      return r.message(() => readTime(r, scalar));
    case 'intOrString':
      return r.message(() => readIntOrString(r));
  }
}

/** A small message of varints and strings, by field number. */
function readNumbers(r: PbReader): { numbers: Map<number, number | bigint>; strings: Map<number, string> } {
  const numbers = new Map<number, number | bigint>();
  const strings = new Map<number, string>();
  while (r.at < r.end) {
    const tag = r.uint32();
    if ((tag & 7) === 0) numbers.set(tag >>> 3, r.int64());
    else if ((tag & 7) === BYTES_TYPE) strings.set(tag >>> 3, r.string());
    else r.skip(tag & 7);
  }
  return { numbers, strings };
}

function readTime(r: PbReader, scalar: 'time' | 'microTime'): string | undefined {
  if (r.at >= r.end) return undefined;
  const { numbers } = readNumbers(r);
  const [seconds, nanos] = [Number(numbers.get(1) ?? 0), Number(numbers.get(2) ?? 0)];
  if (seconds < -62_135_596_800 || seconds > 253_402_300_799 || nanos < 0 || nanos > 999_999_999) {
    throw new PbError('time out of range');
  }
  return formatMoment({ seconds, nanos }, scalar === 'time' ? 0 : 6);
}

function readIntOrString(r: PbReader): number | string {
  const { numbers, strings } = readNumbers(r);
  return numbers.get(1) === 1 ? (strings.get(3) ?? '') : Number(BigInt.asIntN(32, BigInt(numbers.get(2) ?? 0)));
}

function readAny(c: Context, type: AnySchema): unknown {
  const { r } = c;
  const schema = typeSchema('apiextensions.v1.JSONSchemaProps') as StructSchema;
  const strings: string[] = [];
  const schemas: JsonObject[] = [];
  let single: JsonObject | undefined;
  let flag = false;
  let raw: unknown;
  while (r.at < r.end) {
    const tag = r.uint32();
    const number = tag >>> 3;
    if (!type.form.startsWith('schemaOr')) {
      if (tag === 10) raw = decodeRaw(c, r.bytes());
      else r.skip(tag & 7);
    } else if (tag === 8) flag = r.int64() !== 0;
    else if (tag === 18 && type.form === 'schemaOrStringArray') strings.push(r.string());
    else if (tag === 18 && type.form === 'schemaOrArray') schemas.push(r.message(() => readStruct(c, schema)));
    else if ((tag & 7) === BYTES_TYPE && number <= 2) single = r.message(() => readStruct(c, schema));
    else r.skip(tag & 7);
  }
  if (!type.form.startsWith('schemaOr')) return raw;
  if (single !== undefined) return single;
  return type.form === 'schemaOrBool' ? flag : type.form === 'schemaOrArray' ? schemas : strings;
}

/** Raw content is an envelope of its own, or JSON text. */
function decodeRaw(c: Context, bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  if (bytes.length >= 4 && bytes.readUInt32BE(0) === 0x6b387300) return c.nested(bytes);
  return parseJson(bytes.toString('utf8')).value;
}
