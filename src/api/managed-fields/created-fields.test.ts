import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { JsonObject } from '../codec/own-property.ts';
import { canonicalize } from '../codec/canonical.ts';
import { schemaOf } from '../schema/schema.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { createdFields } from './created-fields.ts';
import { createdEntries, trackUpdate } from './field-manager.ts';
import { fieldsOf } from './field-set.ts';

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

test('created objects of the same shape have the same managed fields, and those of another shape their own', () => {
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
  // Empty messages are owned like others.
  assert.equal(new Set(first).size, variants.length - 1);
  assert.deepEqual(owned(event({ message: 'another text' })), owned(event({ message: 'a' })));
});

test('fields of each distinct shape are computed once', () => {
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
    { a: undefined },
    { a: '0' },
    { a: [] },
    { a: ['x'] },
    { a: ['y', 'z'] },
    { ab: '' },
  ])
    createdFields(schema, parts, compute);
  assert.equal(times, 11);
  const metadata = (finalizers: readonly string[]): JsonObject => ({ metadata: { finalizers } });
  for (const finalizers of [['x'], ['x'], ['y'], ['x', 'y']]) createdFields(schema, metadata(finalizers), compute);
  assert.equal(times, 14);
});

const podSchema = schemaOf('', 'v1', 'Pod')!;
/** A schema whose cache of shapes is empty. */
const unknownSchema = (): StructSchema => ({ ...podSchema, fields: podSchema.fields });
const container = (parts: object = {}): object => ({ name: 'main', image: 'a', ...parts });
const spec = (parts: object = {}): object => ({ spec: { containers: [container()], ...parts } });
const containers = (...all: readonly object[]): object => ({ spec: { containers: all } });

const pods: readonly object[] = [
  spec(),
  spec({ nodeName: '' }),
  spec({ nodeName: 'n' }),
  spec({ nodeName: undefined }),
  spec({ hostNetwork: false }),
  spec({ hostNetwork: true }),
  spec({ terminationGracePeriodSeconds: 0 }),
  spec({ volumes: [] }),
  spec({ volumes: [{ name: 'v', emptyDir: {} }] }),
  spec({ volumes: [{ name: 'w', emptyDir: {} }] }),
  spec({ volumes: [{ name: 'w', configMap: { name: 'c' } }] }),
  spec({ nodeSelector: { a: 'b' } }),
  spec({ nodeSelector: {} }),
  spec({ tolerations: [{ key: 'a' }] }),
  spec({ tolerations: [{ key: 'b' }, { key: 'c' }] }),
  containers(container({ image: 'b' })),
  containers(container({ name: 'other' })),
  containers(container(), container({ name: 'other' })),
  containers(container({ name: 'other' }), container()),
  containers(container({ ports: [{ containerPort: 80 }] })),
  containers(container({ ports: [{ containerPort: 81 }] })),
  containers(container({ ports: [{ containerPort: 80, protocol: 'UDP' }] })),
  containers(container({ ports: [{ containerPort: 80, protocol: 'TCP' }] })),
  containers(container({ env: [{ name: 'A', value: '1' }] })),
  containers(container({ env: [{ name: 'A', value: '' }] })),
  containers(container({ env: [{ name: 'B', value: '1' }] })),
  containers(container({ args: ['a'] })),
  containers(container({ args: ['a', 'b'] })),
  containers(container({ resources: { requests: { cpu: '0' } } })),
  containers(container({ resources: { requests: { cpu: '1' } } })),
  containers(container(), container()),
  { ...spec(), status: { phase: 'Running' } },
  { ...spec(), status: {} },
  { ...spec(), metadata: { name: 'p', labels: { a: 'b' }, creationTimestamp: null } },
];

test('pods of a known shape own the same fields as without the cache, in any order', () => {
  const request = { manager: 'm', apiVersion: 'v1', time: '2026-01-01T00:00:00Z', resetFields: fieldsOf('status') };
  const fieldsOfPod = (known: StructSchema, parts: object): string => {
    const pod = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'p', creationTimestamp: null }, ...parts };
    const entries = createdEntries(pod, { ...request, schema: known }, (object) => canonicalize(podSchema, object));
    return JSON.stringify(entries.map(({ fieldsV1 }) => fieldsV1));
  };
  const canonicalPods = pods.map((parts) => canonicalize(podSchema, parts));
  for (const order of [pods, pods.toReversed(), canonicalPods])
    for (const parts of order)
      assert.equal(fieldsOfPod(podSchema, parts), fieldsOfPod(unknownSchema(), parts), JSON.stringify(parts));
});

test('fields of objects beyond the largest shape are computed each time', () => {
  let times = 0;
  const labels = Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`l${index}`, 'x']));
  for (let time = 0; time < 2; time++) createdFields(schema, { metadata: { labels } }, () => void times++);
  assert.equal(times, 2);
});

test('shapes in use stay in the cache while unused ones are evicted', () => {
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

test('a RawExtension is owned as a whole', () => {
  const revisions = schemaOf('apps', 'v1', 'ControllerRevision')!;
  const revision = (data: object): JsonObject =>
    canonicalize(revisions, {
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: { name: 'r' },
      data,
      revision: 1,
    });
  const request = { schema: revisions, manager: 'm', apiVersion: 'apps/v1', time: '2026-01-01T00:00:00Z' };
  const fields = (object: JsonObject): unknown =>
    (object['metadata'] as { managedFields: { fieldsV1: object }[] }).managedFields.map(({ fieldsV1 }) => fieldsV1);
  const made = trackUpdate(undefined, revision({ spec: { a: { b: 1 } } }), request);
  assert.deepEqual(fields(made), [{ 'f:data': {}, 'f:revision': {} }]);
  const metadata = made['metadata'] as object;
  const changed = trackUpdate(made, { ...revision({ spec: { a: {} } }), metadata }, { ...request, manager: 'n' });
  assert.deepEqual(fields(changed), [{ 'f:revision': {} }, { 'f:data': {} }]);
});
