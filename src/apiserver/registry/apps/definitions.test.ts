import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWithAll } from '../../all-resources-fixture.ts';

test('the number of template changes of a DaemonSet is lost through neither its annotations nor its status', async () => {
  const { send } = await startWithAll();
  const sets = '/apis/apps/v1/namespaces/default/daemonsets';
  const annotation = 'deprecated.daemonset.template.generation';
  const labels = { a: 'b' };
  const template = (image: string): object => ({ metadata: { labels }, spec: { containers: [{ name: 'c', image }] } });
  const spec = { selector: { matchLabels: labels }, template: template('one') };
  const made = await send('POST', sets, { metadata: { name: 'd' }, spec });
  assert.equal(made.status, 201, made.text);
  assert.equal(made.body.metadata.annotations[annotation], '1');
  const cases: [part: string, patch: object, generation: string][] = [
    ['', { spec: { template: template('two') } }, '2'],
    ['', { metadata: { annotations: null } }, '2'],
    ['/status', { metadata: { annotations: null } }, '2'],
    ['/status', { metadata: { annotations: { [annotation]: '7' } } }, '2'],
    ['', { spec: { template: template('three') } }, '3'],
  ];
  for (const [part, patch, generation] of cases) {
    const answer = await send('PATCH', `${sets}/d${part}`, patch, { 'content-type': 'application/merge-patch+json' });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.body.metadata.annotations, { [annotation]: generation }, JSON.stringify(patch));
  }
});

test('maxUnavailable of a StatefulSet is dropped unless the stored object has it: its feature gate is off', async () => {
  const { send, storage } = await startWithAll();
  const sets = '/apis/apps/v1/namespaces/default/statefulsets';
  const labels = { a: 'b' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'one' }] } };
  const withMaximum = (name: string, maxUnavailable: unknown): object => ({
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name, namespace: 'default' },
    spec: {
      selector: { matchLabels: labels },
      template,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0, maxUnavailable } },
    },
  });
  const made = await send('POST', sets, withMaximum('new', 0));
  assert.equal(made.status, 201, made.text);
  assert.deepEqual(made.body.spec.updateStrategy.rollingUpdate, { partition: 0 });
  const updated = await send('PUT', `${sets}/new`, withMaximum('new', 2));
  assert.deepEqual(updated.body.spec.updateStrategy.rollingUpdate, { partition: 0 });
  assert.equal(updated.body.metadata.generation, 1);
  // Stored by a version that kept it.
  const old = structuredClone(made.body);
  old.metadata.name = 'old';
  old.spec.updateStrategy.rollingUpdate.maxUnavailable = 2;
  const stored = await storage.store.put({
    key: '/registry/statefulsets/default/old',
    value: Buffer.from(JSON.stringify(old)),
    expectRevision: 0,
  });
  assert.ok(stored.ok);
  await storage.hub.waitFor(stored.revision, 1000);
  const kept = await send('PUT', `${sets}/old`, withMaximum('old', 3));
  assert.equal(kept.status, 200, kept.text);
  assert.deepEqual(kept.body.spec.updateStrategy.rollingUpdate, { partition: 0, maxUnavailable: 3 });
  const refused = await send('PUT', `${sets}/old`, withMaximum('old', 0));
  assert.equal(refused.status, 422, refused.text);
});
