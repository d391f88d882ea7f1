import assert from 'node:assert/strict';
import { it } from 'node:test';
import { controllers } from './list.ts';
import { makeOneOfEach } from './one-of-each-fixture.ts';
import { startServerHarness, type ServerHarness } from './server-harness-fixture.ts';

it('a resync of all controllers finds nothing to do once the cluster has settled', async () => {
  const h = await startServerHarness(Object.values(controllers), {
    clusterCidrs: ['10.42.0.0/16'],
    serviceCidrs: ['10.43.0.0/16'],
    rootCaPem: 'the authority',
    signServiceAccountToken: async () => 'token',
  });
  await h.addNode('node');
  await makeOneOfEach(h);
  // Into the middle of a minute: the CronJob acts at its start.
  await h.run(150_000, { stepMs: 1000 });
  const settled = h.writeLog().length;
  const before = await keysAdded(h);
  await h.startAgain();
  await h.clock.advance(5000);
  assert.deepEqual(h.writeLog().slice(settled), []);
  const after = await keysAdded(h);
  const idle = [...before].filter(([queue, count]) => (after.get(queue) ?? 0) <= count).map(([queue]) => queue);
  // Attachments are keyed by changes of nodes' volumes: there are none.
  assert.deepEqual(idle, ['attach_detach'], 'queues without a key');
  await h.stop();
});

/** The number of keys that were added to each work queue. */
async function keysAdded(h: ServerHarness): Promise<Map<string, number>> {
  const text = await h.metrics.expose();
  return new Map(
    [...text.matchAll(/^workqueue_adds_total\{name="([^"]+)"\} (\d+)/gm)].map(([, name, n]) => [name!, Number(n)]),
  );
}
