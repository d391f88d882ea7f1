import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWithAll } from '../all-resources-fixture.ts';

test('an error names the group and kind of upstream: events of both groups are of the core one', async () => {
  const { send } = await startWithAll();
  for (const [path, kind] of [
    ['/apis/events.k8s.io/v1/namespaces/default/events', 'Event'],
    ['/apis/apps/v1/namespaces/default/deployments', 'Deployment.apps'],
  ] as const) {
    const answer = await send('POST', path, { metadata: { name: 'A b' } }, { 'content-type': 'application/json' });
    assert.equal(answer.status, 422, answer.text);
    const [name, group] = kind.split('.');
    assert.ok(answer.body.message.startsWith(`${kind} "A b" is invalid: `), answer.text);
    assert.deepEqual([answer.body.details.kind, answer.body.details.group], [name, group]);
  }
});
