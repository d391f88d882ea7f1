/**
 * Foreign changes of the rules are repaired within a minute, in the modes whose rules are in shared chains or are replaced as a
 * whole.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { EndpointSlices, Nodes, Services } from '../api/gen/resources.ts';
import { createFakeApi } from '../client/fake-api-fixture.ts';
import { createInProcessClient } from '../client/in-process-transport.ts';
import { createInformerFactory } from '../client/informer-factory.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { JUMPS } from './iptables/fixed-chains.ts';
import type { ProxyMode } from './proxy-config.ts';
import { createServiceProxy } from './service-proxy.ts';

async function setUp(mode: ProxyMode) {
  const platform = createSimPlatform();
  const { clock, exec } = platform;
  const runs: string[] = [];
  /** Rules in the kernel's own chains. */
  const jumps = new Set<string>();
  let inserted = 0;
  for (const program of ['nft', 'iptables-save', 'iptables-restore'])
    exec.program(program, () => {
      runs.push(program);
      return {};
    });
  exec.program('iptables', ({ args }) => {
    const [, , , verb = '', ...rule] = args;
    if (verb === '-C') return { exitCode: jumps.has(rule.join(' ')) ? 0 : 1 };
    if (verb === '-I') {
      jumps.add(rule.join(' '));
      inserted++;
    }
    return {};
  });
  const api = createFakeApi(() => '2026-01-01T00:00:00Z');
  api.seed(Nodes, { metadata: { name: 'here' } });
  api.seed(Services, {
    metadata: { namespace: 'ns', name: 'web' },
    spec: { clusterIP: '10.43.0.5', clusterIPs: ['10.43.0.5'], ports: [{ port: 80 }] },
  });
  api.seed(EndpointSlices, {
    metadata: { namespace: 'ns', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    ports: [{ port: 8080 }],
    endpoints: [{ addresses: ['10.42.0.2'], nodeName: 'here' }],
  });
  const principal = { name: 'p', groups: [] };
  const client = createInProcessClient({ handler: api.handler, clock, principal, userAgent: 'test' });
  const informers = createInformerFactory({ client, clock, random: platform.random, log: platform.log });
  const ranges = { clusterCidr: '10.42.0.0/16', serviceCidr: '10.43.0.0/16' };
  const proxy = createServiceProxy(
    { informers, platform },
    { nodeName: 'here', nftTable: 'kt', masqueradeMark: 0x4001_0000, mode, ...ranges },
  );
  const stop = new AbortController();
  informers.start(stop.signal);
  const running = proxy.start(stop.signal);
  await clock.drive(proxy.synced());
  const end = async (): Promise<void> => {
    stop.abort();
    await clock.drive(running);
  };
  return { clock, runs, jumps, inserted: () => inserted, end };
}

it('iptables: all rules again, and the jumps to them where they are missing', async () => {
  const { clock, runs, jumps, inserted, end } = await setUp('iptables');
  assert.equal(jumps.size, JUMPS.length);
  assert.deepEqual(runs, ['iptables-save', 'iptables-restore']);
  const [gone = ''] = [...jumps];
  jumps.delete(gone);
  await clock.advance(59_000);
  assert.deepEqual([runs.length, jumps.has(gone)], [2, false]);
  await clock.advance(2_000);
  assert.deepEqual(runs, ['iptables-save', 'iptables-restore', 'iptables-save', 'iptables-restore']);
  assert.deepEqual([jumps.has(gone), inserted()], [true, JUMPS.length + 1]);
  await end();
});

it('userspace: the table again, whatever it is believed to be', async () => {
  const { clock, runs, end } = await setUp('userspace');
  assert.deepEqual(runs, ['nft']);
  await clock.advance(59_000);
  assert.deepEqual(runs, ['nft']);
  await clock.advance(2_000);
  assert.deepEqual(runs, ['nft', 'nft']);
  await end();
});
