/** Kubelets' summaries over simulated machines. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Nodes } from '../../api/gen/resources.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createTestObjects } from '../authz/objects-fixture.ts';
import { readSummaries } from './node-summaries.ts';

const node = (name: string, address: string): object => ({
  metadata: { name },
  status: { addresses: [{ type: 'InternalIP', address }], daemonEndpoints: { kubeletEndpoint: { Port: 10_250 } } },
});

test('a node that stops in the middle of its response delays no other', async () => {
  const platform = createSimPlatform();
  const objects = createTestObjects();
  objects.put(Nodes, node('good', '10.0.0.2') as never, node('stuck', '10.0.0.3') as never);
  for (const [address, text] of [
    ['10.0.0.2', '{"node":{}}'],
    ['10.0.0.3', '{"node":'],
  ] as const) {
    const machine = createSimPlatform({ beside: platform, addresses: [address] });
    await machine.net.listenHttp({ host: address, port: 10_250 }, async () => ({
      kind: 'stream',
      status: 200,
      headers: {},
      async run(sink) {
        await sink.write(text);
        if (text.endsWith('}')) await sink.end();
        else await new Promise(() => undefined);
      },
    }));
  }
  const { net, clock, log } = platform;
  const visited: string[] = [];
  const deps = { objects: objects.store, net, clock, log, kubeletTls: () => ({}) };
  await clock.drive(readSummaries(deps, ['stuck', 'good'], (name) => void visited.push(name)));
  assert.deepEqual(visited, ['good']);
  assert.equal(clock.monotonicMs(), 10_000);
});
