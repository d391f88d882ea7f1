import assert from 'node:assert/strict';
import { test } from 'node:test';
import { typeNames, typeSchema } from '../schema/schema.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import type { JsonObject } from './own-property.ts';
import { decodeTyped } from './typed.ts';
import { zeroStruct } from './zero-values.ts';
import { asRead, asWritten } from './written-form.ts';

/** Objects as stored here, and the nulls in upstream's JSON of them. */
const written: readonly (readonly [apiVersion: string, kind: string, object: JsonObject, nulls: readonly string[]])[] =
  [
    ['rbac.authorization.k8s.io/v1', 'ClusterRole', {}, ['rules']],
    ['rbac.authorization.k8s.io/v1', 'Role', { rules: [{ verbs: [], resources: ['pods'] }] }, ['rules.0.verbs']],
    ['apps/v1', 'ControllerRevision', { revision: 1 }, ['data']],
    ['apps/v1', 'Deployment', {}, ['spec.selector', 'spec.template.spec.containers']],
    ['autoscaling/v2', 'HorizontalPodAutoscaler', {}, ['status.currentMetrics']],
    ['discovery.k8s.io/v1', 'EndpointSlice', { addressType: 'IPv4' }, ['endpoints', 'ports']],
    ['v1', 'LimitRange', { spec: {} }, ['spec.limits']],
    ['v1', 'Event', { series: {} }, ['firstTimestamp', 'lastTimestamp', 'eventTime', 'series.lastObservedTime']],
    ['v1', 'ConfigMap', { data: {} }, []],
    ['v1', 'PersistentVolumeClaim', { spec: { dataSource: { kind: 'a', name: 'b' } } }, ['spec.dataSource.apiGroup']],
    [
      'v1',
      'Pod',
      {
        spec: { containers: [{ name: 'c', livenessProbe: { grpc: { port: 1 } } }] },
        status: {
          conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }],
          containerStatuses: [{ name: 'c', state: { terminated: { exitCode: 0 } } }],
        },
      },
      [
        'spec.containers.0.livenessProbe.grpc.service',
        'status.conditions.0.lastProbeTime',
        'status.containerStatuses.0.state.terminated.finishedAt',
        'status.containerStatuses.0.state.terminated.startedAt',
      ],
    ],
    [
      'v1',
      'Node',
      { status: { images: [{}], conditions: [{ type: 'Ready', status: 'True' }] } },
      ['status.conditions.0.lastHeartbeatTime', 'status.conditions.0.lastTransitionTime', 'status.images.0.names'],
    ],
    [
      'apiextensions.k8s.io/v1',
      'CustomResourceDefinition',
      { spec: { versions: [{ schema: { openAPIV3Schema: { default: null, properties: { a: {} } } } }] } },
      ['status.conditions', 'status.storedVersions'],
    ],
    ['resource.k8s.io/v1', 'ResourceClaim', { spec: {} }, ['spec.devices.requests']],
  ];

function nullsIn(value: unknown, path: string, out: string[]): void {
  if (typeof value !== 'object') return;
  if (value === null) return void out.push(path);
  for (const [key, inner] of Object.entries(value)) nullsIn(inner, path === '' ? key : `${path}.${key}`, out);
}

function canonical(apiVersion: string, kind: string, object: JsonObject): JsonObject {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
  const name = typeNames().find((known) => {
    const { gvk } = typeSchema(known) as StructSchema;
    return gvk !== undefined && gvk.join('/') === `${group}/${version}/${kind}`;
  });
  return decodeTyped(typeSchema(name!) as StructSchema, { apiVersion, kind, metadata: {}, ...object }).object;
}

for (const [apiVersion, kind, object, nulls] of written) {
  test(`${kind}: null where Go has no list, pointer, time or raw value, and back`, () => {
    const held = canonical(apiVersion, kind, object);
    const before = JSON.stringify(held);
    const text = asWritten(held);
    const found: string[] = [];
    nullsIn(text, '', found);
    assert.deepEqual(found.toSorted(), nulls.toSorted());
    assert.equal(JSON.stringify(held), before, 'the object itself is unchanged');
    assert.deepEqual(asRead(JSON.parse(JSON.stringify(text))), held);
    if (nulls.length === 0) assert.equal(text, held, 'nothing is copied');
  });
}

test('every kind survives asWritten and asRead, and a custom resource keeps its nulls', () => {
  for (const name of typeNames()) {
    const schema = typeSchema(name) as StructSchema;
    if (schema.gvk === undefined) continue;
    const [group, version, kind] = schema.gvk;
    const zero = { ...zeroStruct(schema), apiVersion: group === '' ? version : `${group}/${version}`, kind };
    assert.deepEqual(asRead(structuredClone(asWritten(zero))), zero, name);
  }
  const custom = { apiVersion: 'example.com/v1', kind: 'Role', rules: null };
  assert.equal(asRead(custom), custom);
  assert.equal(asWritten(custom), custom);
});
