// Properties that must hold for every built-in kind, on random objects.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allResources } from '../gen/resources.ts';
import { apiVersionOf } from '../resource-info.ts';
import { seededDraw, sampleStruct } from '../schema/sample-fixture.ts';
import { schemaOf } from '../schema/schema.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { parseJson, stringifyJson } from './json.ts';
import { decodeProtobuf, encodeProtobuf } from './protobuf.ts';
import { canonicalize } from './canonical.ts';
import { decodeTyped } from './typed.ts';

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
      assert.deepEqual(canonical, decodeTyped(schema, sample).object, `${info.kind}: as decoded`);
      const sharesAll = info.kind !== 'CustomResourceDefinition'; // JSON schemas in a CRD are unions, which are always copied.
      if (sharesAll) assert.equal(canonicalize(schema, canonical), canonical, `${info.kind}: shared when canonical`);
      assert.deepEqual(parseJson(stringifyJson(canonical)).value, canonical, `${info.kind}: JSON`);
      assert.deepEqual(decodeProtobuf(encodeProtobuf(schema, canonical)), canonical, `${info.kind}: protobuf`);
      assert.deepEqual(decodeTyped(schema, sample, { mode: 'Strict', shape: 'sparse' }).warnings, []);
    }
  });
}

test('canonicalize replaces parts that are not canonical up to the root, shares all others and changes no input', () => {
  const schema = schemaOf('', 'v1', 'Pod') as StructSchema;
  const clean = canonicalize(schema, {
    metadata: { name: 'a', labels: { a: 'b' } },
    spec: { containers: [{ name: 'a' }, { name: 'b' }], nodeName: 'n' },
  });
  const [first, second] = (clean['spec'] as { containers: [object, object] }).containers;
  const draft = Object.freeze({
    ...clean,
    unknown: 1,
    spec: Object.freeze({
      ...(clean['spec'] as object),
      nodeName: '',
      hostname: undefined,
      containers: Object.freeze([first, Object.freeze({ ...second, image: '', env: null, nonsense: true }), null]),
    }),
  });
  const result = canonicalize(schema, draft);
  assert.deepEqual(result, decodeTyped(schema, draft).object);
  assert.deepEqual(Object.keys(result), Object.keys(decodeTyped(schema, draft).object), 'fields in the same order');
  assert.equal(result['metadata'], clean['metadata']);
  assert.equal((result['spec'] as { containers: object[] }).containers[0], first);
  const unread = Object.defineProperty({}, 'a', {
    enumerable: true,
    get: () => assert.fail('a shared part is visited'),
  });
  const known = { ...clean, status: unread };
  assert.deepEqual(canonicalize(schema, draft, known), result, 'the same beside an older object');
  assert.equal(canonicalize(schema, known, { ...known })['status'], unread, 'what is shared with it is not looked at');
  assert.throws(
    () => canonicalize(schema, { spec: { containers: 'x' } }),
    /cannot unmarshal string into Go struct field/,
  );
});
