import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWithAll } from '../../all-resources-fixture.ts';

test('the number of template changes of a DaemonSet survives changes of its annotations and its status', async () => {
  const { send } = await startWithAll();
  const sets = '/apis/apps/v1/namespaces/default/daemonsets';
  const annotation = 'deprecated.daemonset.template.generation';
  const labels = { a: 'b' };
  const template = (image: string): object => ({ metadata: { labels }, spec: { containers: [{ name: 'c', image }] } });
  const spec = { selector: { matchLabels: labels }, template: template('one') };
  const made = await send('POST', sets, { metadata: { name: 'd' }, spec });
  assert.equal(made.status, 201, made.text);
  assert.equal(made.body.metadata.annotations[annotation], '1');
  const [owner] = made.body.metadata.managedFields;
  assert.deepEqual(owner.fieldsV1['f:metadata'], { 'f:annotations': { '.': {}, [`f:${annotation}`]: {} } });
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

test('a DaemonSet whose number of template changes is no int64 is refused wherever it is written', async () => {
  const { send } = await startWithAll();
  const sets = '/apis/apps/v1/namespaces/default/daemonsets';
  const annotation = 'deprecated.daemonset.template.generation';
  const labels = { a: 'b' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const set = (text: string): object => ({
    metadata: { name: 'd', annotations: { [annotation]: text } },
    spec: { selector: { matchLabels: labels }, template },
  });
  const refusal = (text: string, why: string): string =>
    `DaemonSet in version "v1" cannot be handled as a DaemonSet: strconv.ParseInt: parsing "${text}": ${why}`;
  for (const text of ['abc', '', ' 1', '1_0', '1.5', '0x1']) {
    const { status, body } = await send('POST', sets, set(text));
    assert.deepEqual([status, body.message], [400, refusal(text, 'invalid syntax')]);
  }
  const large = '9223372036854775808';
  assert.equal((await send('POST', sets, set(large))).body.message, refusal(large, 'value out of range'));
  for (const [text, shown] of [
    ['+5', '5'],
    ['-5', '1'],
    ['9007199254740993', '9007199254740993'],
  ] as const) {
    const made = await send('POST', `${sets}?dryRun=All`, set(text));
    assert.equal(made.body.metadata.annotations[annotation], shown);
  }
  assert.equal((await send('POST', sets, set('3'))).status, 201);
  for (const path of [`${sets}/d`, `${sets}/d/status`])
    assert.equal((await send('PUT', path, set('abc'))).body.message, refusal('abc', 'invalid syntax'));
  const patch = { metadata: { annotations: { [annotation]: 'abc' } } };
  const patched = await send('PATCH', `${sets}/d`, patch, { 'content-type': 'application/merge-patch+json' });
  assert.equal(patched.status, 400, patched.text);
});
