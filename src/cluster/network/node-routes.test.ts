/** How often the kernel's routes are read, under virtual time with a function in place of `ip`. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Node } from '../../api/gen/core-v1.ts';
import { Nodes } from '../../api/gen/resources.ts';
import { formatTime } from '../../api/time.ts';
import { createFakeApi } from '../../client/fake-api-fixture.ts';
import { createInProcessClient } from '../../client/in-process-transport.ts';
import { createInformerFactory } from '../../client/informer-factory.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { deriveInstance } from '../instance/instance.ts';
import { runNodeRoutes } from './node-routes.ts';

const instance = deriveInstance(
  {
    dataDir: '/data',
    nodeName: 'here',
    clusterCidr: '10.42.0.0/16',
    serviceCidr: '10.43.0.0/16',
    clusterDomain: 'cluster.local',
    httpsPort: 6443,
  },
  (text) => createHash('sha256').update(text).digest('hex'),
);

const node = (name: string, address: string, podCidr: string): Node => ({
  metadata: { name },
  spec: { podCIDR: podCidr, podCIDRs: [podCidr] },
  status: { addresses: [{ type: 'InternalIP', address }] },
});

const here = node('here', '10.0.0.1', '10.42.0.0/24');
const other = node('other', '10.200.0.2', '10.42.1.0/24');

/** A kernel with a route to the nodes of `onLink` by a link; each run of `ip` takes a moment. */
async function setUp(nodes: readonly Node[]) {
  const platform = createSimPlatform({ addresses: ['10.0.0.1'] });
  const { clock, exec, random, log } = platform;
  const kernel = { onLink: ['10.200.0.2'], fails: false };
  const ran: string[] = [];
  const batches: string[] = [];
  exec.program('ip', async ({ args, options }) => {
    ran.push(args.join(' '));
    await clock.sleep(10);
    if (args.includes('-batch')) batches.push(...String(options.input).trim().split('\n'));
    if (!args.includes('scope')) return {};
    if (kernel.fails) return { exitCode: 2, stderr: 'RTNETLINK answers: Operation not permitted' };
    return { stdout: JSON.stringify(kernel.onLink.map((dst) => ({ dst, dev: 'eth0', scope: 'link' }))) };
  });
  exec.program('bridge', () => ({}));
  const api = createFakeApi(() => formatTime(clock.nowMs()));
  for (const each of nodes) api.seed(Nodes, each);
  const principal = { name: 'test', groups: [] };
  const client = createInProcessClient({ handler: api.handler, clock, principal, userAgent: 'test' });
  const informers = createInformerFactory({ client, clock, random, log });
  const stop = new AbortController();
  const config = { instance, nodeIp: '10.0.0.1', vni: 7 };
  const deps = { informers, platform, client, setMtu: async () => undefined, report: () => undefined };
  const running = runNodeRoutes(deps, config, stop.signal);
  informers.start(stop.signal);
  await clock.advance(1_000);
  const end = async (): Promise<void> => {
    stop.abort();
    await clock.drive(running);
  };
  const heartbeats = async (times: number): Promise<void> => {
    for (let count = 0; count < times; count++) {
      api.modify(Nodes, 'other', (object) => ({
        ...object,
        metadata: { ...object.metadata, annotations: { count: `${count}` } },
      }));
      await clock.advance(100);
    }
  };
  return { api, batches, clock, end, heartbeats, kernel, log, ran };
}

describe('routes to other nodes', () => {
  it('a change of a Node that moves no address starts no program', async () => {
    const { end, heartbeats, ran } = await setUp([here, other]);
    ran.length = 0;
    await heartbeats(20);
    assert.deepEqual(ran, []);
    await end();
  });

  it('a node that a route of ours puts on a link is reached there, from when it appears', async () => {
    const { api, batches, clock, end } = await setUp([here]);
    assert.deepEqual(batches, []);
    api.seed(Nodes, other);
    await clock.advance(100);
    assert.deepEqual(batches, ['route replace 10.42.1.0/24 via 10.200.0.2 proto 199']);
    await end();
  });

  it('follows the address of a node', async () => {
    const { api, batches, clock, end, kernel } = await setUp([here, other]);
    [kernel.onLink, batches.length] = [['10.200.0.9'], 0];
    api.modify(Nodes, 'other', () => node('other', '10.200.0.9', '10.42.1.0/24'));
    await clock.advance(100);
    assert.deepEqual(batches, ['route replace 10.42.1.0/24 via 10.200.0.9 proto 199']);
    await end();
  });

  it('reads the links every half minute, however long that takes, and finds new ones', async () => {
    const { batches, clock, end, kernel, ran } = await setUp([here, other]);
    for (const round of [1, 2, 3]) {
      ran.length = 0;
      await clock.advance(30_000);
      assert.equal(ran.filter((line) => line.includes('scope link')).length, 1, `round ${round}`);
      assert.equal(ran.filter((line) => line === '-4 -json route show proto 199').length, 1, `round ${round}`);
    }
    [kernel.onLink, batches.length] = [[], 0];
    await clock.advance(30_000);
    assert.ok(
      batches.some((line) => line.startsWith(`route replace 10.42.1.0/24 via 10.42.1.0 dev ${instance.tunnelDevice}`)),
    );
    await end();
  });

  it('does not take unreadable links for missing ones', async () => {
    const { batches, clock, end, kernel, log } = await setUp([here, other]);
    [kernel.fails, batches.length] = [true, 0];
    await clock.advance(31_000);
    assert.ok(log.entries.some(({ message }) => message.startsWith('cannot route to other nodes')));
    assert.deepEqual(
      batches.filter((line) => line.includes('vxlan')),
      [],
    );
    kernel.fails = false;
    await clock.advance(2_000);
    assert.deepEqual(batches, ['route replace 10.42.1.0/24 via 10.200.0.2 proto 199']);
    await end();
  });
});
