import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pods } from '../api/gen/resources.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { createAbsentClient } from './absent-client.ts';

test('a client without a server rejects each request with the reason', async () => {
  const client = createAbsentClient(new VirtualClock(), 'no server here');
  const reason = { message: 'no server here' };
  const pods = client.resource(Pods);
  assert.equal(pods.info, Pods);
  await assert.rejects(pods.get({ namespace: 'n', name: 'a' }), reason);
  await assert.rejects(pods.list(), reason);
  await assert.rejects(pods.watch({})[Symbol.asyncIterator]().next(), reason);
  await assert.rejects(client.raw({ path: '/version' }), reason);
  await assert.rejects(client.upgrade({ path: '/exec', headers: {} }), reason);
});
