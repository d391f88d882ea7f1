// Random values of a type, derived from a seed, for tests that must hold for every kind.

import { setOwn, type JsonObject } from '../codec/own-property.ts';
import type { AnySchema, ScalarName, StructSchema, TypeSchema } from './type-schema.ts';

/** Returns the next number of a sequence in [0, 1). */
export type Draw = () => number;

/** A generator that returns the same sequence for the same seed (a 32-bit linear congruential generator). */
export function seededDraw(seed: number): Draw {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function pick<T>(draw: Draw, choices: readonly T[]): T {
  return choices[Math.floor(draw() * choices.length)] as T;
}

/** Values of each scalar type: zero, the limits, and special values between. */
export const scalarSamples: Readonly<Record<ScalarName, readonly unknown[]>> = {
  string: ['', 'a', 'ü€😀', 'x'.repeat(200), '__proto__'],
  boolean: [true, false],
  int32: [0, 1, -1, 2_147_483_647, -2_147_483_648, 300],
  int64: [0, 1, -1, Number.MAX_SAFE_INTEGER, 9_007_199_254_740_993n, -9_223_372_036_854_775_808n],
  double: [0, 1.5, -1e300],
  bytes: ['', 'AA==', 'AAEC'],
  quantity: ['0', '1', '500m', '1Gi', '1500Mi', '1e3'],
  time: ['2024-02-29T23:59:59Z', '1969-12-31T00:00:00Z', '1970-01-01T00:00:00Z'],
  microTime: ['2024-02-29T23:59:59.000001Z', '1970-01-01T00:00:00.000000Z'],
  intOrString: [0, 80, '', 'http', '25%'],
};

const anything: Record<AnySchema['form'], readonly unknown[]> = {
  object: [{}, { a: [1, null, { b: 'c' }] }],
  fieldsV1: [{ 'f:spec': { 'f:replicas': {} } }],
  json: ['x', 1, false, [1, 'a'], { a: {} }],
  schemaOrArray: [{ type: 'string' }, [{ type: 'string' }, { type: 'integer' }]],
  schemaOrBool: [true, false, { type: 'string' }],
  schemaOrStringArray: [{ type: 'string' }, ['a', 'b']],
};

/** A value of the type; beyond `depth` levels it has only required fields. */
export function sampleOf(type: TypeSchema, draw: Draw, depth = 6): unknown {
  switch (type.kind) {
    case 'scalar':
      return pick(draw, scalarSamples[type.scalar]);
    case 'any':
      return pick(draw, anything[type.form]);
    case 'list':
      return Array.from({ length: depth <= 0 ? 0 : Math.floor(draw() * 3) }, () =>
        sampleOf(type.items, draw, depth - 1),
      );
    case 'map': {
      const out: JsonObject = {};
      for (let i = Math.floor(draw() * 3); i > 0; i--)
        setOwn(out, pick(draw, ['a', 'b/c', '__proto__', 'ü']), sampleOf(type.values, draw, depth - 1));
      return out;
    }
    case 'struct':
      return sampleStruct(type, draw, depth);
  }
}

/** A value of a struct type. */
export function sampleStruct(type: StructSchema, draw: Draw, depth = 6): JsonObject {
  const out: JsonObject = {};
  for (const field of type.fields.values()) {
    if (depth > 0 && draw() < 0.5) setOwn(out, field.name, sampleOf(field.type, draw, depth - 1));
  }
  return out;
}

/** A value with every field of the protobuf form set to a nonzero value, down to `depth` levels of structs. */
export function fullStruct(type: StructSchema, depth: number): JsonObject {
  const out: JsonObject = {};
  for (const { name, pb, type: fieldType } of type.fields.values())
    if (pb.length > 0) setOwn(out, name, fullOf(fieldType, depth));
  return out;
}

function fullOf(type: TypeSchema, depth: number): unknown {
  switch (type.kind) {
    case 'scalar':
      return scalarSamples[type.scalar].find((value) => value !== 0 && value !== '' && value !== '0');
    case 'any':
      return anything[type.form].at(-1);
    case 'list':
      return [fullOf(type.items, depth)];
    case 'map':
      return { key: fullOf(type.values, depth) };
    case 'struct':
      return depth <= 0 ? {} : fullStruct(type, depth - 1);
  }
}
