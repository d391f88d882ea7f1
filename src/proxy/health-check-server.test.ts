import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ListenHttp } from '../platform/http.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { createHealthCheckServer } from './health-check-server.ts';
import { nodePortHosts } from './node-port-addresses.ts';

const PORT = 32_000;

function setUp() {
  const { log, clock } = createSimPlatform();
  const open = new Set<string>();
  const taken = new Set<string>();
  let hosts: readonly string[] = [];
  const listenHttp: ListenHttp = async ({ host, port }) => {
    if (taken.has(host ?? '')) throw Object.assign(new Error('taken'), { code: 'EADDRINUSE' });
    open.add(`${host} ${port}`);
    return { port, setCertificate: () => undefined, close: async () => void open.delete(`${host} ${port}`) };
  };
  const checks = createHealthCheckServer(
    { listenHttp, log },
    () => true,
    () => hosts,
  );
  const setHosts = async (...now: readonly string[]): Promise<void> => {
    hosts = now;
    checks.refresh();
    await clock.settle();
  };
  return { checks, open, taken, setHosts, settle: () => clock.settle() };
}

it('listens on the node port addresses, and follows their changes', async () => {
  const { checks, open, setHosts, settle } = setUp();
  await setHosts('192.0.2.1');
  checks.set('ns/lb', { namespace: 'ns', name: 'lb', port: PORT, localEndpoints: 1 });
  await settle();
  assert.deepEqual([...open], [`192.0.2.1 ${PORT}`]);
  await setHosts('192.0.2.2', '192.0.2.1');
  assert.deepEqual([...open], [`192.0.2.1 ${PORT}`, `192.0.2.2 ${PORT}`]);
  await setHosts('192.0.2.2');
  assert.deepEqual([...open], [`192.0.2.2 ${PORT}`]);
  checks.set('ns/lb', undefined);
  await settle();
  assert.deepEqual([...open], []);
  await setHosts('192.0.2.3');
  assert.deepEqual([...open], []);
});

it('a port that was in use opens when it is free', async () => {
  const { checks, open, taken, setHosts, settle } = setUp();
  taken.add('0.0.0.0');
  await setHosts('0.0.0.0');
  checks.set('ns/lb', { namespace: 'ns', name: 'lb', port: PORT, localEndpoints: 1 });
  await settle();
  assert.deepEqual([...open], []);
  taken.clear();
  checks.refresh();
  await settle();
  assert.deepEqual([...open], [`0.0.0.0 ${PORT}`]);
  await checks.close();
  assert.deepEqual([...open], []);
});

it('the addresses: all of the families served, or those in the ranges', () => {
  const interfaces = () =>
    ['127.0.0.1', '192.0.2.1', '10.0.0.1', '::1', 'fe80::1', 'fd00::1'].map((address) => ({
      name: 'e',
      address,
      family: address.includes(':') ? (6 as const) : (4 as const),
      internal: false,
      cidr: '',
    }));
  const table = (family: 4 | 6, nodePortRanges?: readonly string[]) => ({ config: { family }, nodePortRanges });
  for (const [tables, expected] of [
    [[table(4)], ['0.0.0.0']],
    [[table(4), table(6)], ['::']],
    [[table(4, ['192.0.2.0/24'])], ['192.0.2.1']],
    [
      [table(4, ['192.0.2.0/24']), table(6, ['fd00::/8'])],
      ['192.0.2.1', 'fd00::1'],
    ],
    [
      [table(4, ['192.0.2.0/24']), table(6)],
      ['192.0.2.1', '::1', 'fd00::1'],
    ],
    [[table(4, [])], []],
  ] as const)
    assert.deepEqual(nodePortHosts(tables, { interfaces }), expected);
});
