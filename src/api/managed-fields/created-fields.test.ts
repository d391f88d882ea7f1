import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { JsonObject } from '../codec/own-property.ts';
import { schemaOf } from '../schema/schema.ts';
import { createdFields } from './created-fields.ts';
import { trackUpdate } from './field-manager.ts';

const schema = schemaOf('', 'v1', 'Event')!;
const event = (parts: object): JsonObject => ({
  kind: 'Event',
  apiVersion: 'v1',
  metadata: { name: 'e', namespace: 'default', creationTimestamp: null },
  involvedObject: { kind: 'Pod', name: 'p' },
  source: {},
  firstTimestamp: null,
  lastTimestamp: null,
  eventTime: null,
  reportingComponent: '',
  reportingInstance: '',
  ...parts,
});

const owned = (object: JsonObject): unknown => {
  const request = { schema, manager: 'm', apiVersion: 'v1', time: '2026-01-01T00:00:00Z' };
  const { metadata } = trackUpdate(undefined, object, request) as {
    metadata: { managedFields: { fieldsV1: object }[] };
  };
  return metadata.managedFields.map(({ fieldsV1 }) => fieldsV1);
};

test('fields of created objects: the second of a shape owns what the first does, another shape what is its own', () => {
  const variants: readonly object[] = [
    { message: 'a' },
    { message: '' },
    { source: { component: 'kubelet' } },
    { firstTimestamp: '2026-01-01T00:00:00Z' },
    { reportingComponent: 'kubelet' },
    { count: 1 },
    { involvedObject: { kind: 'Pod', namespace: 'p' } },
    { metadata: { name: 'e', labels: { a: 'b' } } },
    { metadata: { name: 'e', labels: { b: 'b' } } },
    { metadata: { name: 'e', finalizers: ['x/a'] } },
    { metadata: { name: 'e', finalizers: ['x/b'] } },
  ];
  const first = variants.map((parts) => JSON.stringify(owned(event(parts))));
  assert.deepEqual(
    variants.map((parts) => JSON.stringify(owned(event(parts)))),
    first,
  );
  // An empty message is owned as any is, and the involved object as a whole: these two say nothing of their own.
  assert.equal(new Set(first).size, variants.length - 2);
  assert.deepEqual(owned(event({ message: 'another text' })), owned(event({ message: 'a' })));
});

test('shapes that differ are computed each, equal ones once, and lists every time', () => {
  let times = 0;
  const compute = (): undefined => void times++;
  for (const parts of [
    { a: '' },
    { a: 'x' },
    { a: 'y' },
    { a: 0 },
    { a: {} },
    { a: { b: 1 } },
    { a: null },
    { ab: '' },
  ])
    createdFields(schema, parts, compute);
  assert.equal(times, 7);
  for (const list of [['x'], ['x']]) createdFields(schema, { list }, compute);
  assert.equal(times, 9);
});

test('a shape in use is kept, however many others come and go; one that is not makes room', () => {
  const computed: string[] = [];
  const create = (name: string): void => void createdFields(schema, { [name]: 'x' }, () => void computed.push(name));
  create('idle');
  for (let index = 0; index < 100; index++) {
    create('used');
    create(`once${index}`);
  }
  create('idle');
  const times = (name: string): number => computed.filter((one) => one === name).length;
  assert.deepEqual([times('used'), times('idle'), computed.length], [1, 2, 103]);
});
