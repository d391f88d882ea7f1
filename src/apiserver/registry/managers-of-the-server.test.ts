/** Managed fields of values that an endpoint resets or cannot read. Upstream: reset fields, managedfields. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWithAll } from '../all-resources-fixture.ts';
import { type Body, created, JSON_BODY, pathOf, selector, template } from './server-fields-fixture.ts';

test('an apply through a status owns no field that the sub-resource resets', async () => {
  const server = await startWithAll([], 'api/all=true');
  const apply = { 'content-type': 'application/apply-patch+yaml' };
  const kinds = [
    [
      'apps/v1',
      'Deployment',
      pathOf('apis/apps/v1', 'deployments'),
      { spec: { selector, template } },
      ['f:annotations'],
    ],
    [
      'resource.k8s.io/v1',
      'ResourceClaim',
      pathOf('apis/resource.k8s.io/v1', 'resourceclaims'),
      { spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] } } },
      [],
    ],
  ] as const;
  for (const [apiVersion, kind, path, object, owned] of kinds) {
    await created(server, path, { metadata: { name: 'a' }, ...object });
    const metadata = { name: 'a', labels: { a: 'b' }, annotations: { c: 'd' } };
    const answer = await server.send(
      'PATCH',
      `${path}/a/status?fieldManager=m&force=true`,
      JSON.stringify({ apiVersion, kind, metadata, status: {} }),
      apply,
    );
    assert.equal(answer.status, 200, answer.text);
    const mine = answer.body.metadata.managedFields.find(({ manager }: Body) => manager === 'm');
    assert.deepEqual(Object.keys(mine?.fieldsV1['f:metadata'] ?? {}), owned, kind);
  }
});

test('the entry for fields from before the first apply contains none that the endpoint resets', async () => {
  const server = await startWithAll();
  const path = pathOf('apis/apps/v1', 'deployments');
  const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' }, spec: { selector, template } };
  await created(server, path, object);
  const merge = { 'content-type': 'application/merge-patch+json' };
  await server.send('PATCH', `${path}/a/status`, { status: { replicas: 1 } }, merge);
  await server.send('PATCH', `${path}/a`, { metadata: { managedFields: [{}] } }, merge);
  const apply = { 'content-type': 'application/apply-patch+yaml' };
  const { body, text } = await server.send(
    'PATCH',
    `${path}/a?fieldManager=m&force=true`,
    JSON.stringify(object),
    apply,
  );
  const before = body.metadata.managedFields.find(({ manager }: Body) => manager === 'before-first-apply');
  assert.deepEqual([body.status.replicas, Object.keys(before.fieldsV1)], [1, ['f:spec']], text);
});

test('managed fields as an empty list are reset; those of a status that cannot be read are passed over', async () => {
  const server = await startWithAll();
  const path = pathOf('api/v1', 'persistentvolumeclaims');
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  const claim = await created(server, path, { metadata: { name: 'a' }, spec });
  const bad = [{ manager: 'm', operation: 'Bogus', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {} }];
  const put = (place: string, managedFields: object[]): ReturnType<typeof server.send> =>
    server.send('PUT', `${path}/a${place}`, { ...claim, metadata: { name: 'a', managedFields } }, JSON_BODY);
  const kept = await put('/status', bad);
  assert.deepEqual([kept.status, kept.body.metadata.managedFields], [200, claim.metadata.managedFields], kept.text);
  const reset = await put('', []);
  assert.deepEqual([reset.status, reset.body.metadata.managedFields], [200, undefined], reset.text);
});
