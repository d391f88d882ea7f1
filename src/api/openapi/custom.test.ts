/** Custom resources in the documents of OpenAPI v2 and v3. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import { ConfigMaps } from '../gen/resources.ts';
import { createNodeClock } from '../../platform/node/clock.ts';
import type { ResourceInfo } from '../resource-info.ts';
import { createCustomDocuments } from './custom.ts';

const info: ResourceInfo = {
  ...ConfigMaps,
  group: 'example.com',
  kind: 'Widget',
  listKind: 'WidgetList',
  resource: 'widgets',
};

function described(schema: JSONSchemaProps | undefined): Record<2 | 3, Record<string, unknown>> {
  const documents = createCustomDocuments('v1.36.0')([{ info, schema }]);
  const v3 = documents.extraV3.get('apis/example.com/v1') as unknown as {
    components: { schemas: Record<string, Record<string, unknown>> };
  };
  const name = 'com.example.v1.Widget';
  return { 2: documents.extraV2().definitions[name] as Record<string, unknown>, 3: v3.components.schemas[name]! };
}

test('a schema that permits any field has no properties, because clients would refuse all other fields', () => {
  const free = described({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true });
  assert.deepEqual(Object.keys(free[2]).sort(), ['type', 'x-kubernetes-group-version-kind']);
  assert.ok('properties' in free[3]);
  const none = described(undefined);
  for (const version of [2, 3] as const)
    assert.deepEqual(Object.keys(none[version]).sort(), ['type', 'x-kubernetes-group-version-kind']);
});

test('kubectl explain of a custom resource contains the texts that conformance tests expect', () => {
  const documents = createCustomDocuments('v1.36.0')([{ info, schema: { type: 'object' } }]);
  const { definitions } = documents.extraV2();
  const shown = JSON.stringify(definitions);
  for (const words of ['APIVersion defines', "Standard object's metadata", 'CreationTimestamp is a timestamp'])
    assert.ok(shown.includes(`"${words}`), words);
});

test('the properties of a schema are added to those of all objects', () => {
  const shaped = described({ type: 'object', properties: { spec: { type: 'object' } } });
  for (const version of [2, 3] as const)
    assert.deepEqual(Object.keys(shaped[version]['properties'] as object).sort(), [
      'apiVersion',
      'kind',
      'metadata',
      'spec',
    ]);
});

test('rules and selectable fields are shown by both, defaults and alternatives by version 3 alone', () => {
  const rules = [{ rule: 'self != "a"' }];
  const field: JSONSchemaProps = {
    type: 'string',
    default: 'b',
    anyOf: [{ minLength: 1 }],
    'x-kubernetes-validations': rules,
  };
  const schema: JSONSchemaProps = { type: 'object', properties: { color: field } };
  const documents = createCustomDocuments('v1.36.0')([{ info, schema, selectableFields: ['.color'] }]);
  const v3 = documents.extraV3.get('apis/example.com/v1') as unknown as { components: { schemas: object } };
  for (const definitions of [documents.extraV2().definitions, v3.components.schemas] as Record<string, never>[])
    for (const name of ['com.example.v1.Widget', 'com.example.v1.WidgetList'])
      assert.deepEqual(definitions[name]!['x-kubernetes-selectable-fields'], [{ fieldPath: 'color' }]);
  const shown = described(schema) as unknown as Record<2 | 3, { properties: { color: object } }>;
  assert.deepEqual(shown[2].properties.color, { type: 'string', 'x-kubernetes-validations': rules });
  assert.deepEqual(shown[3].properties.color, field);
});

test('documents of deleted definitions are not retained, those of unchanged ones are the same objects', async () => {
  const documentsOf = createCustomDocuments('v1.36.0');
  const path = 'apis/example.com/v1';
  const apis = [{ info, schema: { type: 'object' } }];
  const first = documentsOf(apis).extraV3.get(path);
  assert.equal(documentsOf(apis).extraV3.get(path), first);
  assert.notEqual(documentsOf([{ info, schema: {} }]).extraV3.get(path), first);
  const gone = new WeakRef(documentsOf([{ info, schema: {} }]).extraV3.get(path)!);
  await createNodeClock().yield(); // A WeakRef keeps its object alive until the end of the turn.
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  assert.equal(gone.deref(), undefined);
  assert.equal(typeof documentsOf, 'function');
});

/** The parts of a version 2 document that kubectl and helm reject, whatever object they validate. */
function unreadable(schema: unknown, path: string): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { type, items } = schema as { readonly type?: unknown; readonly items?: unknown };
  const own = type === 'array' && (typeof items !== 'object' || items === null) ? [path] : [];
  return [...own, ...Object.entries(schema).flatMap(([key, inner]) => unreadable(inner, `${path}.${key}`))];
}

const FREE = 'x-kubernetes-preserve-unknown-fields';
const EMBEDDED = 'x-kubernetes-embedded-resource';
const inner = { type: 'object', properties: { a: { type: 'string' } } };
const V2_CASES: readonly { readonly title: string; readonly schema: JSONSchemaProps; readonly v2: object }[] = [
  { title: 'array of anything', schema: { type: 'array', items: inner, [FREE]: true }, v2: { [FREE]: true } },
  { title: 'free object', schema: { ...inner, [FREE]: true }, v2: { [FREE]: true } },
  { title: 'nullable array', schema: { type: 'array', items: inner, nullable: true }, v2: {} },
  { title: 'nullable object', schema: { ...inner, nullable: true }, v2: {} },
  {
    title: 'required field that may be null',
    schema: { type: 'object', required: ['a', 'b'], properties: { a: { type: 'string', nullable: true }, b: {} } },
    v2: { type: 'object', required: ['b'], properties: { a: {}, b: {} } },
  },
  {
    title: 'map of values that may be null',
    schema: { type: 'object', required: ['a'], additionalProperties: { type: 'string', nullable: true } },
    v2: { type: 'object', additionalProperties: {} },
  },
  {
    title: 'free embedded object',
    schema: { ...inner, [EMBEDDED]: true, [FREE]: true },
    v2: { [EMBEDDED]: true, [FREE]: true },
  },
  { title: 'alternatives', schema: { anyOf: [{ type: 'integer' }], oneOf: [], not: {} }, v2: {} },
];

test('clients of version 2 can read every schema, also nested in objects, arrays and maps', () => {
  for (const { title, schema, v2 } of V2_CASES) {
    const properties = {
      field: schema,
      list: { type: 'array', items: schema },
      map: { type: 'object', additionalProperties: schema },
    };
    const { 2: shown } = described({ type: 'object', properties });
    assert.deepEqual(unreadable(shown, ''), [], title);
    const { field, list, map } = shown['properties'] as Record<string, Record<string, unknown>>;
    assert.deepEqual([field, list!['items'], map!['additionalProperties']], [v2, v2, v2], title);
  }
});

test('an embedded object requires its kind and its version', () => {
  const shown = described({
    type: 'object',
    properties: { template: { ...inner, required: ['a', 'kind'], [EMBEDDED]: true } },
  });
  for (const version of [2, 3] as const) {
    const { template } = shown[version]['properties'] as Record<string, { required: unknown; properties: object }>;
    assert.deepEqual(template!.required, ['a', 'kind', 'apiVersion']);
    assert.deepEqual(Object.keys(template!.properties), ['a', 'apiVersion', 'kind', 'metadata']);
  }
});
