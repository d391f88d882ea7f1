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
