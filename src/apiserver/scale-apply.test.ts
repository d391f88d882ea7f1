import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWithAll } from './all-resources-fixture.ts';
import type { TestServer } from './server-fixture.ts';

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';

function applying(send: TestServer['send']) {
  return (manager: string, spec: object, query = ''): ReturnType<typeof send> => {
    const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'd' }, spec };
    return send('PATCH', `${DEPLOYMENTS}/d/scale?fieldManager=${manager}${query}`, scale, {
      'content-type': 'application/apply-patch+yaml',
    });
  };
}

test('applied scales own their replicas and conflict like any other field', async () => {
  const { send } = await startWithAll();
  const spec = {
    replicas: 1,
    selector: { matchLabels: { a: 'b' } },
    template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  };
  const config = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd' }, spec };
  await send('PATCH', `${DEPLOYMENTS}/d?fieldManager=owner`, config, {
    'content-type': 'application/apply-patch+yaml',
  });
  const apply = applying(send);
  const same = await apply('s1', { replicas: 1 });
  assert.equal(same.status, 200, same.text);
  const refused = await apply('s2', { replicas: 4 });
  assert.deepEqual([refused.status, refused.body.reason], [409, 'Conflict']);
  assert.match(refused.body.message, /^Apply failed with 2 conflicts: /);
  const forced = await apply('s2', { replicas: 4 }, '&force=true');
  assert.deepEqual([forced.status, forced.body.kind, forced.body.spec.replicas], [200, 'Scale', 4]);
  const { body } = await send('GET', `${DEPLOYMENTS}/d`);
  const owners = body.metadata.managedFields.filter((entry: { fieldsV1: object }) =>
    JSON.stringify(entry.fieldsV1).includes('f:replicas'),
  );
  assert.deepEqual(
    owners.map(({ manager, operation, subresource }: Record<string, string>) => [manager, operation, subresource]),
    [['s2', 'Apply', 'scale']],
  );
  const again = await apply('s2', { replicas: 4 });
  assert.equal(again.body.metadata.resourceVersion, body.metadata.resourceVersion, 'nothing changed');
  for (const [given, status] of [
    [{ replicas: -1 }, 422],
    [{}, 400],
    [{ replicas: 'x' }, 400],
  ] as const)
    assert.equal((await apply('s2', given)).status, status);
});

test('a scale is shown as a table', async () => {
  const { send } = await startWithAll();
  await send('POST', DEPLOYMENTS, {
    metadata: { name: 'd' },
    spec: {
      replicas: 3,
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  });
  const { body } = await send('GET', `${DEPLOYMENTS}/d/scale`, undefined, {
    accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
  });
  assert.deepEqual(
    body.columnDefinitions.map(({ name }: { name: string }) => name),
    ['Name', 'Desired', 'Available', 'Age'],
  );
  assert.deepEqual(body.rows[0].cells.slice(0, 3), ['d', 3, 0]);
});
