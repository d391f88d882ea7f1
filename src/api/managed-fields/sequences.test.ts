// Sequences of applies and updates with the results of structured-merge-diff v6, with nulls pruned as for custom resources.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isObject, type JsonObject } from '../codec/own-property.ts';
import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import type { ManagedFieldsEntry } from '../gen/meta-v1.ts';
import { structuralSchema } from '../schema/structural.ts';
import { apply } from './apply.ts';
import { trackUpdate } from './field-manager.ts';

const string = { type: 'string' };
const object = (properties: object) => ({ type: 'object', properties });
const list = (items: object, type: string, keys: object = {}) => ({
  type: 'array',
  items,
  'x-kubernetes-list-type': type,
  ...keys,
});
const small = object({ a: string, b: object({ c: string, d: string }) });
const spec = object({
  s: string,
  t: string,
  n: { type: 'integer' },
  o: small,
  m: { type: 'object', additionalProperties: string },
  mo: { type: 'object', additionalProperties: object({ a: string, b: string }) },
  at: { ...object({ a: string, b: string }), 'x-kubernetes-map-type': 'atomic' },
  al: list(string, 'atomic'),
  ls: list(string, 'set'),
  lm: list({ ...object({ k: string, v: string, o: small }), required: ['k'] }, 'map', {
    'x-kubernetes-list-map-keys': ['k'],
  }),
});
const schema = structuralSchema(object({ spec }) as JSONSchemaProps, { group: 't.io', version: 'v1', kind: 'T' });

type Step = readonly [operation: string, manager: string, spec: object];

function run(steps: readonly Step[]): JsonObject {
  let live: JsonObject | undefined;
  for (const [operation, manager, wanted] of steps) {
    const next = { apiVersion: 't.io/v1', kind: 'T', metadata: { name: 'x' }, spec: wanted };
    const request = { schema, apiVersion: 't.io/v1', time: '2024-01-01T00:00:00Z', manager };
    if (operation === 'update')
      live = trackUpdate(live, { ...next, metadata: { ...(live?.['metadata'] as object) } }, request);
    else {
      const result = apply(live, next, { ...request, force: true });
      assert.equal(result.kind, 'applied');
      live = result.kind === 'applied' ? result.object : undefined;
    }
  }
  return live!;
}

/** Defaulting removes nulls of fields. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([, item]) => item !== null);
  return Object.fromEntries(kept.map(([key, item]) => [key, withoutNulls(item)]));
}

const cases: readonly { steps: readonly Step[]; spec: object; fields: object }[] = [
  {
    steps: [
      ['apply', 'a', { o: { a: 'x', b: { c: 'y' } } }],
      ['apply', 'a', { n: 1, o: { b: {} } }],
    ],
    spec: { n: 1, o: {} },
    fields: { 'a/Apply': { 'f:spec': { 'f:n': {}, 'f:o': { 'f:b': {} } } } },
  },
  {
    steps: [
      ['apply', 'a', { m: { x: 'y' }, s: 'z' }],
      ['apply', 'a', { m: {}, n: 1 }],
    ],
    spec: { n: 1 },
    fields: { 'a/Apply': { 'f:spec': { 'f:m': {}, 'f:n': {} } } },
  },
  {
    steps: [
      ['apply', 'a', { o: { a: 'x' }, s: 'z' }],
      ['apply', 'a', { s: 'z' }],
    ],
    spec: { s: 'z' },
    fields: { 'a/Apply': { 'f:spec': { 'f:s': {} } } },
  },
  {
    steps: [
      ['apply', 'a', { o: { b: { c: 'x' } }, s: 'z' }],
      ['apply', 'a', { o: {}, s: 'z' }],
    ],
    spec: { s: 'z' },
    fields: { 'a/Apply': { 'f:spec': { 'f:o': {}, 'f:s': {} } } },
  },
  {
    steps: [
      ['apply', 'a', { mo: { x: { a: 'y' }, y: { b: 'z' } } }],
      ['apply', 'a', { mo: { y: {} } }],
    ],
    spec: { mo: {} },
    fields: { 'a/Apply': { 'f:spec': { 'f:mo': { 'f:y': {} } } } },
  },
  {
    steps: [
      ['apply', 'a', { lm: [{ k: 'x', v: 'y', o: { a: 'z' } }] }],
      ['apply', 'a', { lm: [{ k: 'x', o: {} }] }],
    ],
    spec: { lm: [{ k: 'x' }] },
    fields: { 'a/Apply': { 'f:spec': { 'f:lm': { 'k:{"k":"x"}': { '.': {}, 'f:k': {}, 'f:o': {} } } } } },
  },
  {
    steps: [
      ['apply', 'a', { lm: [{ k: 'x' }, { k: 'y' }], ls: ['p', 'q'] }],
      ['apply', 'a', { s: 'z' }],
    ],
    spec: { s: 'z' },
    fields: { 'a/Apply': { 'f:spec': { 'f:s': {} } } },
  },
  {
    steps: [
      ['apply', 'a', { o: { a: 'x' } }],
      ['apply', 'b', { o: { b: { c: 'y' } } }],
      ['apply', 'a', {}],
    ],
    spec: { o: { b: { c: 'y' } } },
    fields: { 'a/Apply': { 'f:spec': {} }, 'b/Apply': { 'f:spec': { 'f:o': { 'f:b': { 'f:c': {} } } } } },
  },
  {
    steps: [
      ['apply', 'a', { o: { a: 'x' } }],
      ['apply', 'b', { o: { a: 'x' } }],
      ['apply', 'a', {}],
      ['apply', 'b', { s: 'z' }],
    ],
    spec: { s: 'z' },
    fields: { 'a/Apply': { 'f:spec': {} }, 'b/Apply': { 'f:spec': { 'f:s': {} } } },
  },
  {
    steps: [
      ['apply', 'a', { s: null, t: 'x' }],
      ['apply', 'b', { s: 'y' }],
    ],
    spec: { s: 'y', t: 'x' },
    fields: { 'a/Apply': { 'f:spec': { 'f:t': {} } }, 'b/Apply': { 'f:spec': { 'f:s': {} } } },
  },
  {
    steps: [
      ['apply', 'a', { m: { x: 'y', z: 'w' } }],
      ['update', 'c', { m: { x: 'y' }, s: 'q' }],
      ['apply', 'a', {}],
    ],
    spec: { s: 'q' },
    fields: { 'a/Apply': { 'f:spec': {} }, 'c/Update': { 'f:spec': { 'f:s': {} } } },
  },
  {
    steps: [
      ['apply', 'a', { at: { a: 'x' }, al: ['x'] }],
      ['apply', 'a', { t: 'y' }],
    ],
    spec: { t: 'y' },
    fields: { 'a/Apply': { 'f:spec': { 'f:t': {} } } },
  },
] as unknown as readonly { steps: readonly Step[]; spec: object; fields: object }[];

describe('objects and owners after a sequence of applies and updates are those of upstream', () => {
  for (const { steps, spec: wanted, fields } of cases)
    it(
      steps.map(([operation, manager, given]) => `${operation} ${manager} ${JSON.stringify(given)}`).join(', '),
      () => {
        const after = run(steps);
        assert.deepEqual(withoutNulls(after['spec']), wanted);
        const { managedFields = [] } = after['metadata'] as { managedFields?: ManagedFieldsEntry[] };
        const owned = managedFields.map(({ manager, operation, fieldsV1 }) => [`${manager}/${operation}`, fieldsV1]);
        assert.deepEqual(Object.fromEntries(owned), fields);
      },
    );
});
