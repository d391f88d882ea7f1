// Every field of every type, alone and together with all others, through protobuf and JSON. The wire form is read by another
// library, so that a field number or wire type that encoder and decoder both have wrong is found.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { allResources } from '../gen/resources.ts';
import { schemaOf } from '../schema/schema.ts';
import { fullStruct, scalarSamples } from '../schema/sample-fixture.ts';
import type { FieldSchema, ScalarName, StructSchema, TypeSchema } from '../schema/type-schema.ts';
import { canonicalize } from './canonical.ts';
import { parseJson, stringifyJson } from './json.ts';
import { decodeRawMessage, encodeMessage } from './protobuf.ts';

/** Every struct within the served kinds, by name. */
function allStructs(): ReadonlyMap<string, StructSchema> {
  const found = new Map<string, StructSchema>();
  const visit = (type: TypeSchema | undefined): void => {
    if (type?.kind === 'list') visit(type.items);
    else if (type?.kind === 'map') visit(type.values);
    else if (type?.kind === 'struct' && !found.has(type.name)) {
      found.set(type.name, type);
      for (const field of type.fields.values()) visit(field.type);
    }
  };
  for (const { group, version, kind } of allResources) visit(schemaOf(group, version, kind));
  return found;
}

const structs = allStructs();

function roundTrip(schema: StructSchema, value: object, what: string): Uint8Array {
  const canonical = canonicalize(schema, value);
  const bytes = encodeMessage(schema, canonical);
  assert.deepEqual(decodeRawMessage(schema, bytes), canonical, `${what}: protobuf`);
  assert.deepEqual(parseJson(stringifyJson(canonical)).value, canonical, `${what}: JSON`);
  return bytes;
}

test('a value with every field set survives', () => {
  assert.ok(structs.size > 500, `only ${structs.size} types`);
  for (const [name, schema] of structs) {
    roundTrip(schema, fullStruct(schema, 3), name);
  }
});

/** The wire type of each scalar, and its value by another protobuf reader; all other types are messages. */
const wire: Partial<Record<ScalarName, { type: WireType; read(reader: BinaryReader): unknown }>> = {
  string: { type: WireType.LengthDelimited, read: (reader) => reader.string() },
  boolean: { type: WireType.Varint, read: (reader) => reader.bool() },
  int32: { type: WireType.Varint, read: (reader) => reader.int32() },
  int64: { type: WireType.Varint, read: (reader) => BigInt(reader.int64()) },
  double: { type: WireType.Bit64, read: (reader) => reader.double() },
  bytes: { type: WireType.LengthDelimited, read: (reader) => Buffer.from(reader.bytes()).toString('base64') },
};

/** The reader at the value of the last field of a path, and its wire type. */
function find(bytes: Uint8Array, [number, ...rest]: readonly number[]): [BinaryReader, WireType] | undefined {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [found, type] = reader.tag();
    if (found !== number) reader.skip(type);
    else return rest.length === 0 ? [reader, type] : find(reader.bytes(), rest);
  }
  return undefined;
}

const isZero = (value: unknown): boolean => [0, '', false].includes(value as never);

function checkScalar(schema: StructSchema, field: FieldSchema, scalar: ScalarName): void {
  for (const value of scalarSamples[scalar]) {
    const what = `${schema.name}.${field.name} = ${String(value)}`;
    const bytes = roundTrip(schema, { [field.name]: value }, what);
    const expected = wire[scalar];
    const found = find(bytes, field.pb);
    if (found === undefined) {
      assert.ok(isZero(value), `${what} is not on the wire`);
      continue;
    }
    const [reader, type] = found;
    assert.equal(type, expected?.type ?? WireType.LengthDelimited, `${what}: wire type`);
    if (expected !== undefined)
      assert.equal(expected.read(reader), scalar === 'int64' ? BigInt(value as number) : value, what);
  }
}

test('each field alone, with zero, its limits and a value between, is encoded under its number', () => {
  let checked = 0;
  for (const schema of structs.values())
    for (const field of schema.fields.values()) {
      if (field.pb.length === 0) continue;
      checked++;
      if (field.type.kind === 'scalar') checkScalar(schema, field, field.type.scalar);
      else {
        const value = fullStruct(schema, 2)[field.name];
        const bytes = roundTrip(schema, { [field.name]: value }, `${schema.name}.${field.name}`);
        const type = find(bytes, field.pb)?.[1];
        const items = field.type.kind === 'list' && !field.pbWrapped ? field.type.items : undefined;
        const scalar = items?.kind === 'scalar' ? wire[items.scalar]?.type : undefined;
        assert.equal(type, scalar ?? WireType.LengthDelimited, `${schema.name}.${field.name}: wire type`);
      }
    }
  assert.ok(checked > 2400, `only ${checked} fields`);
});
