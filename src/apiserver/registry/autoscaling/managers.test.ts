/** Managers of both versions of one autoscaler: changes count as they look in the version of each. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWithAll } from '../../all-resources-fixture.ts';

const pathOf = (version: string, name = ''): string =>
  `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers${name}`;
const merge = { 'content-type': 'application/merge-patch+json' };
const apply = { 'content-type': 'application/apply-patch+yaml' };

const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
const autoscaler = (version: string, spec: object): object => ({
  apiVersion: `autoscaling/${version}`,
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'a' },
  spec: { scaleTargetRef, maxReplicas: 5, ...spec },
});
const cpu = (averageUtilization: number): object => ({
  metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } }],
});

interface Entry {
  readonly manager: string;
  readonly apiVersion: string;
  readonly fieldsV1: { readonly 'f:spec'?: object };
}

const owners = (entries: readonly Entry[]): (readonly [string, string, readonly string[]])[] =>
  entries.map((one) => [one.manager, one.apiVersion, Object.keys(one.fieldsV1['f:spec'] ?? {}).sort()]);

test('an update in v2 takes the target that was applied in v1', async () => {
  const { send } = await startWithAll();
  const path = `${pathOf('v1', '/a')}?fieldManager=m`;
  await send('PATCH', path, autoscaler('v1', { targetCPUUtilizationPercentage: 50 }), apply);
  const { body, text } = await send('PATCH', `${pathOf('v2', '/a')}?fieldManager=n`, { spec: cpu(60) }, merge);
  assert.deepEqual(
    owners(body.metadata.managedFields),
    [
      ['m', 'autoscaling/v1', ['f:maxReplicas', 'f:scaleTargetRef']],
      ['n', 'autoscaling/v2', ['f:metrics']],
    ],
    text,
  );
});

test('an apply in v1 conflicts with the metrics that another applied in v2', async () => {
  const { send } = await startWithAll();
  await send('PATCH', `${pathOf('v2', '/a')}?fieldManager=m`, autoscaler('v2', cpu(50)), apply);
  const path = `${pathOf('v1', '/a')}?fieldManager=n`;
  const same = await send('PATCH', path, autoscaler('v1', { targetCPUUtilizationPercentage: 50 }), apply);
  assert.equal(same.status, 200, same.text);
  const other = await send('PATCH', path, autoscaler('v1', { targetCPUUtilizationPercentage: 60 }), apply);
  assert.deepEqual(
    [other.status, other.body.message],
    [409, 'Apply failed with 1 conflict: conflict with "m": .spec.metrics'],
  );
});

test('an applier that goes to another version drops what it applied in the former one', async () => {
  const { send } = await startWithAll();
  const behavior = { scaleDown: { stabilizationWindowSeconds: 7 } };
  await send('PATCH', `${pathOf('v2', '/a')}?fieldManager=m`, autoscaler('v2', { ...cpu(50), behavior }), apply);
  const path = `${pathOf('v1', '/a')}?fieldManager=m`;
  const { status, text } = await send('PATCH', path, autoscaler('v1', { targetCPUUtilizationPercentage: 50 }), apply);
  assert.equal(status, 200, text);
  const { spec } = (await send('GET', pathOf('v2', '/a'))).body;
  assert.deepEqual([spec.behavior?.scaleDown?.stabilizationWindowSeconds, spec.maxReplicas], [undefined, 5]);
  assert.deepEqual({ metrics: spec.metrics }, cpu(50));
});

const formerManager = {
  manager: 'former',
  operation: 'Update',
  apiVersion: 'autoscaling/v2beta2',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:spec': { 'f:metrics': {} } },
};

test('an update forgets a manager of a version that is not served any more, and no other', async () => {
  const { send } = await startWithAll();
  await send('PATCH', `${pathOf('v1', '/a')}?fieldManager=m`, autoscaler('v1', {}), apply);
  const before = (await send('GET', pathOf('v2', '/a'))).body;
  const managedFields = [...before.metadata.managedFields, formerManager];
  const spec = { ...before.spec, maxReplicas: 6 };
  const changed = { ...before, metadata: { ...before.metadata, managedFields }, spec };
  const { body, text } = await send('PUT', `${pathOf('v2', '/a')}?fieldManager=n`, changed);
  assert.deepEqual(
    owners(body.metadata.managedFields),
    [
      ['m', 'autoscaling/v1', ['f:scaleTargetRef']],
      ['n', 'autoscaling/v2', ['f:maxReplicas']],
    ],
    text,
  );
});
