import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applySchemaDefaults, pruneUnknown } from '../codec/prune.ts';
import { decodeTyped } from '../codec/typed.ts';
import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import { fieldSetOf } from '../managed-fields/field-extract.ts';
import { formatFieldPath, pathsOf } from '../managed-fields/field-set.ts';
import { structuralSchema } from './structural.ts';
import type { StructSchema } from './type-schema.ts';

const props: JSONSchemaProps = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['size'],
      properties: {
        size: { type: 'integer', default: 3 },
        port: { 'x-kubernetes-int-or-string': true },
        mode: { type: 'string', default: 'fast', nullable: true },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
        items: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: { type: 'object', properties: { name: { type: 'string' }, on: { type: 'boolean', default: true } } },
        },
        free: {
          type: 'object',
          'x-kubernetes-preserve-unknown-fields': true,
          properties: { known: { type: 'object' } },
        },
        template: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: { type: 'object' } } },
      },
    },
  },
};
const schema = structuralSchema(props, { group: 'example.com', version: 'v1', kind: 'Widget' });

test('unknown fields are pruned, except where the schema preserves them', () => {
  const input = {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'a', labels: { x: 'y' }, nope: 1 },
    extra: 1,
    spec: {
      nope: 1,
      labels: { any: 'thing' },
      items: [{ name: 'a', nope: 1 }, { name: 'b' }],
      free: { whatever: { deep: 1 }, known: { gone: 1 } },
      template: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { gone: 1 }, gone: 1 },
    },
  };
  const before = structuredClone(input);
  const { object, unknown } = pruneUnknown(schema, input);
  assert.deepEqual(input, before);
  assert.deepEqual(object['spec'], {
    labels: { any: 'thing' },
    items: [{ name: 'a' }, { name: 'b' }],
    free: { whatever: { deep: 1 }, known: {} },
    template: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: {} },
  });
  assert.deepEqual(
    unknown,
    [
      'extra',
      'metadata.nope',
      'spec.free.known.gone',
      'spec.items[0].nope',
      'spec.nope',
      'spec.template.gone',
      'spec.template.spec.gone',
    ].map((path) => `unknown field "${path}"`),
  );
  assert.equal(pruneUnknown(schema, object).object, object);
});

test('objects where another type belongs keep their fields, if unknown ones are preserved', () => {
  const types = ['string', 'integer', 'boolean', 'array'];
  const fields = (keeps: boolean): JSONSchemaProps => ({
    type: 'object',
    properties: Object.fromEntries(
      types.map((type) => [type, { type, ...(keeps && { 'x-kubernetes-preserve-unknown-fields': true }) }]),
    ),
  });
  const owner = { group: 'example.com', version: 'v1', kind: 'Widget' };
  const object = { spec: Object.fromEntries(types.map((type) => [type, { a: 1 }])) };
  const keeping = structuralSchema({ type: 'object', properties: { spec: fields(true) } }, owner);
  assert.deepEqual(pruneUnknown(keeping, object), { object, unknown: [] });
  const pruning = structuralSchema({ type: 'object', properties: { spec: fields(false) } }, owner);
  assert.equal(pruneUnknown(pruning, object).unknown.length, types.length);
});

test('nulls go where neither null nor a default is allowed; those of lists and of unknown places stay', () => {
  const custom = structuralSchema(
    {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: {
            ...Object.fromEntries(
              ['object', 'array', 'string', 'integer', 'number', 'boolean'].map((type) => [type, { type }]),
            ),
            intOrString: { 'x-kubernetes-int-or-string': true },
            anything: { 'x-kubernetes-preserve-unknown-fields': true },
            nullable: { type: 'string', nullable: true },
            defaulted: { type: 'string', default: 'x' },
            map: { type: 'object', additionalProperties: { type: 'string' } },
            nullableMap: { type: 'object', additionalProperties: { type: 'string', nullable: true } },
            list: { type: 'array', items: { type: 'string' } },
            objects: { type: 'array', items: { type: 'object', properties: { a: { type: 'string' } } } },
            open: {
              type: 'object',
              'x-kubernetes-preserve-unknown-fields': true,
              properties: { known: { type: 'string' } },
            },
          },
        },
      },
    },
    { group: 'example.com', version: 'v1', kind: 'Widget' },
  );
  const everyField = [...(custom.fields.get('spec')!.type as StructSchema).fields.keys()];
  const nulls = Object.fromEntries(everyField.map((name) => [name, null]));
  assert.deepEqual(pruneUnknown(custom, { spec: nulls }), {
    object: { spec: { nullable: null, defaulted: null } },
    unknown: [],
  });
  const spec = {
    map: { a: null, b: 'x' },
    nullableMap: { a: null },
    list: [null],
    objects: [null, { a: null }],
    open: { known: null, unknown: null },
  };
  assert.deepEqual(pruneUnknown(custom, { spec }).object, {
    spec: { map: { b: 'x' }, nullableMap: { a: null }, list: [null], objects: [null, {}], open: { unknown: null } },
  });
});

test('defaults fill absent fields, and null fields that are not nullable', () => {
  const { spec } = applySchemaDefaults(schema, {
    spec: { size: null, mode: null, items: [{ name: 'a' }, { name: 'b', on: false }] },
  }) as { spec: object };
  assert.deepEqual(spec, {
    size: 3,
    mode: null,
    items: [
      { name: 'a', on: true },
      { name: 'b', on: false },
    ],
  });
  assert.deepEqual(applySchemaDefaults(schema, {}), {});
});

test('typed decoding keeps zero values of custom fields', () => {
  const { object } = decodeTyped(schema, { spec: { size: 0, port: 0, items: [], labels: {} } });
  assert.deepEqual(object['spec'], { size: 0, port: 0, items: [], labels: {} });
});

test('list keys of the schema appear in field sets', () => {
  const set = fieldSetOf(schema, { spec: { size: 1, items: [{ name: 'a', on: true }], free: { x: { y: 1 } } } });
  assert.deepEqual(pathsOf(set).map(formatFieldPath), [
    '.spec.size',
    '.spec.free.x',
    '.spec.free.x.y',
    '.spec.items[name="a"]',
    '.spec.items[name="a"].name',
    '.spec.items[name="a"].on',
  ]);
});

test('without a schema all values are kept', () => {
  const open = structuralSchema(undefined, { group: 'g', version: 'v1', kind: 'K' });
  const object = { metadata: { name: 'a' }, spec: { a: { b: 1 } } };
  assert.equal(pruneUnknown(open, object).object, object);
});
