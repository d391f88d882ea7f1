/** The health of the service proxy as load balancers and probes read it, under virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Nodes, Services } from '../../api/gen/resources.ts';
import type { Node, Service } from '../../api/gen/core-v1.ts';
import { formatMicroTime } from '../../api/time.ts';
import { createInformerFactory } from '../../client/informer-factory.ts';
import { createInProcessClient } from '../../client/in-process-transport.ts';
import { createFakeApi } from '../../client/fake-api-fixture.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createServiceProxy } from '../../proxy/service-proxy.ts';
import { serveProxyHealth } from './proxy-health.ts';

const service = (name: string): Service => ({
  metadata: { namespace: 'ns', name },
  spec: { type: 'ClusterIP', clusterIP: '10.43.0.5', clusterIPs: ['10.43.0.5'], ports: [{ port: 80 }] },
});

async function setUp() {
  const platform = createSimPlatform();
  const { clock, exec, random, log } = platform;
  const nft = { works: true };
  exec.program('nft', () => (nft.works ? {} : { exitCode: 1, stderr: 'Error: no' }));
  const api = createFakeApi(() => '2026-01-01T00:00:00Z');
  api.seed(Nodes, { metadata: { name: 'here' } });
  const principal = { name: 'p', groups: [] };
  const client = createInProcessClient({ handler: api.handler, clock, principal, userAgent: 'test' });
  const informers = createInformerFactory({ client, clock, random, log });
  const proxy = createServiceProxy(
    { informers, platform },
    {
      nodeName: 'here',
      nftTable: 'kt',
      clusterCidr: '10.42.0.0/16',
      serviceCidr: '10.43.0.0/16',
      masqueradeMark: 0x4001_0000,
      mode: 'nftables',
    },
  );
  const served = await serveProxyHealth(platform, proxy, {
    healthAddress: '0.0.0.0:10256',
    hardFail: true,
    mode: 'nftables',
  });
  const stop = new AbortController();
  const ask = async (path: string): Promise<[status: number, body: Record<string, unknown>]> => {
    const { status, body } = await platform.net.http({ method: 'GET', url: `http://127.0.0.1:10256${path}` });
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    return [status, JSON.parse(Buffer.concat(chunks).toString())];
  };
  const both = async (): Promise<number[]> => [(await ask('/healthz'))[0], (await ask('/livez'))[0]];
  const start = async (): Promise<{ running: Promise<void> }> => {
    informers.start(stop.signal);
    const running = proxy.start(stop.signal);
    await clock.settle();
    return { running };
  };
  const end = async (running: Promise<void>): Promise<void> => {
    stop.abort();
    await clock.drive(running);
    await served.close();
  };
  return { clock, api, nft, ask, both, start, end };
}

test('changes that wait for a minute are unhealthy until they are in the kernel', async () => {
  const { clock, api, nft, ask, both, start, end } = await setUp();
  assert.deepEqual(await both(), [200, 200], 'nothing waits before the start');
  const { running } = await start();
  await clock.advance(300_000);
  assert.deepEqual(await both(), [200, 200]);
  const lastSyncedMs = clock.nowMs();
  nft.works = false;
  api.seed(Services, service('web'));
  await clock.advance(59_000);
  assert.deepEqual(await both(), [200, 200], 'not late yet');
  await clock.advance(2000);
  const [status, body] = await ask('/healthz');
  assert.equal(status, 503);
  assert.ok(String(body['lastUpdated']) <= formatMicroTime(lastSyncedMs));
  assert.deepEqual(await both(), [503, 503]);
  nft.works = true;
  await clock.advance(31_000);
  assert.deepEqual(await both(), [200, 200]);
  await end(running);
});

const leaving: readonly [about: string, change: (node: Node) => Node][] = [
  [
    'is being deleted',
    (node) => ({ ...node, metadata: { ...node.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }),
  ],
  [
    'is about to be',
    (node) => ({ ...node, spec: { taints: [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }] } }),
  ],
];
for (const [about, change] of leaving)
  test(`load balancers leave a node that ${about}; the proxy lives on`, async () => {
    const { clock, api, ask, both, start, end } = await setUp();
    const { running } = await start();
    assert.equal((await ask('/healthz'))[1]['nodeEligible'], true);
    api.modify<Node>(Nodes, 'here', change);
    await clock.settle();
    assert.deepEqual(await both(), [503, 200]);
    assert.equal((await ask('/healthz'))[1]['nodeEligible'], false);
    assert.equal('nodeEligible' in (await ask('/livez'))[1], false);
    api.remove(Nodes, 'here');
    await clock.settle();
    assert.deepEqual(await both(), [503, 200], 'as last seen');
    await end(running);
  });
