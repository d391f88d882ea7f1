// Properties that must hold for every built-in kind, on random objects.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allResources } from '../gen/resources.ts';
import { apiVersionOf } from '../resource-info.ts';
import { seededDraw, sampleStruct } from '../schema/sample.ts';
import { schemaOf } from '../schema/schema.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { parseJson, stringifyJson } from './json.ts';
import { decodeProtobuf, encodeProtobuf } from './protobuf.ts';
import { canonicalize, decodeTyped } from './typed.ts';

const kinds = allResources.map((info) => ({
  info,
  schema: schemaOf(info.group, info.version, info.kind) as StructSchema,
}));

for (const seed of [1, 2, 3]) {
  test(`canonical objects survive JSON and protobuf (seed ${seed})`, () => {
    const draw = seededDraw(seed);
    for (const { info, schema } of kinds) {
      const sample = { ...sampleStruct(schema, draw), apiVersion: apiVersionOf(info), kind: info.kind };
      const canonical = canonicalize(schema, sample);
      assert.deepEqual(canonicalize(schema, canonical), canonical, `${info.kind}: canonical twice`);
      assert.deepEqual(parseJson(stringifyJson(canonical)).value, canonical, `${info.kind}: JSON`);
      assert.deepEqual(decodeProtobuf(encodeProtobuf(schema, canonical)), canonical, `${info.kind}: protobuf`);
      assert.deepEqual(decodeTyped(schema, sample, { mode: 'Strict', shape: 'sparse' }).warnings, []);
    }
  });
}
