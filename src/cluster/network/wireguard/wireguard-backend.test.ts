/** A node's tunnels under virtual time, on a machine whose `ip`, `wg` and `wireguard-go` are functions. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Node } from '../../../api/gen/core-v1.ts';
import { Nodes } from '../../../api/gen/resources.ts';
import { formatTime } from '../../../api/time.ts';
import { createFakeApi } from '../../../client/fake-api-fixture.ts';
import { createInProcessClient } from '../../../client/in-process-transport.ts';
import { createInformerFactory } from '../../../client/informer-factory.ts';
import { wireguardPublicKey } from '../../../component-helpers/wireguard-annotations.ts';
import { createSimPlatform } from '../../../platform/sim/sim-platform.ts';
import { deriveInstance, type FlannelBackend } from '../../instance/instance.ts';
import { runNodeRoutes } from '../node-routes.ts';
import { keyOf, wireguardNode } from './wireguard-fixture.ts';

const instanceWith = (flannelBackend: FlannelBackend) =>
  deriveInstance(
    {
      dataDir: '/data',
      nodeName: 'here',
      clusterCidr: '10.42.0.0/16',
      serviceCidr: '10.43.0.0/16',
      clusterDomain: 'cluster.local',
      httpsPort: 6443,
      flannelBackend,
    },
    (text) => createHash('sha256').update(text).digest('hex'),
  );
const DEVICE = instanceWith('wireguard-native').wireguardDevice;
const SYS = `/sys/class/net/${DEVICE}`;

const here: Node = {
  metadata: { name: 'here' },
  spec: { podCIDRs: ['10.42.0.0/24'] },
  status: { addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] },
};
const other = wireguardNode('other', ['10.42.1.0/24'], ['10.200.0.2']);

interface Setting {
  readonly nodes: readonly Node[];
  readonly backend?: FlannelBackend;
  /** The kernel has no WireGuard. */
  readonly hasKernel?: boolean;
}

async function setUp({ nodes, backend = 'wireguard-native', hasKernel = true }: Setting) {
  const platform = createSimPlatform({ addresses: ['10.0.0.1'] });
  const { clock, exec, files, random, log } = platform;
  await files.makeDir('/data');
  await files.makeDir('/sys/class/net');
  const batches: string[] = [];
  const wgSets: string[] = [];
  const problems: string[] = [];
  const mtus: number[] = [];
  const kernel = { addresses: '', dump: '(none)\t(none)\t0\toff\n', fails: false };
  exec.program('ip', async ({ args, options }) => {
    if (args.includes('-batch')) {
      const lines = String(options.input).trim().split('\n');
      batches.push(...lines);
      if (lines.includes(`link del ${DEVICE}`)) await files.remove(SYS);
    }
    if (args.includes('addr')) return { stdout: kernel.addresses };
    if (args.includes('wireguard')) {
      if (!hasKernel) return { exitCode: 2, stderr: 'Error: Unknown device type.' };
      await files.makeDir(SYS);
    }
    return {};
  });
  exec.program('bridge', () => ({}));
  exec.program('wg', ({ args }) => {
    if (kernel.fails) return { exitCode: 1, stderr: 'Unable to access interface: No such device' };
    if (args[0] === 'show') return { stdout: kernel.dump };
    wgSets.push(args.slice(2).join(' '));
    return {};
  });
  const api = createFakeApi(() => formatTime(clock.nowMs()));
  for (const each of nodes) api.seed(Nodes, each);
  const client = createInProcessClient({
    handler: api.handler,
    clock,
    principal: { name: 'test', groups: [] },
    userAgent: 'test',
  });
  const informers = createInformerFactory({ client, clock, random, log });
  const stop = new AbortController();
  const setMtu = async (mtu: number): Promise<void> => void mtus.push(mtu);
  const report = (problem: string): void => void problems.push(problem);
  const config = { instance: instanceWith(backend), nodeIp: '10.0.0.1', vni: 7 };
  const running = runNodeRoutes({ informers, platform, client, setMtu, report }, config, stop.signal);
  informers.start(stop.signal);
  await clock.advance(1_000);
  const end = async (): Promise<void> => {
    stop.abort();
    await clock.drive(running);
  };
  const own = async (): Promise<Node> => client.resource(Nodes).get({ name: 'here' });
  return { api, batches, clock, end, exec, files, kernel, log, mtus, own, problems, wgSets };
}

describe('tunnels between nodes', () => {
  it('makes a key once, publishes it, and routes through the device', async () => {
    const { batches, end, files, mtus, own, problems, wgSets } = await setUp({ nodes: [here, other] });
    const text = await files.readText('/data/wireguard.key');
    assert.match(text, /^[A-Za-z0-9+/]{43}=\n$/);
    assert.equal((await files.stat('/data/wireguard.key')).mode & 0o777, 0o600);
    assert.ok(wireguardPublicKey(await own()));
    assert.notEqual(wireguardPublicKey(await own()), text.trim());
    assert.deepEqual(wgSets, [
      `listen-port 51820 private-key /data/wireguard.key peer ${keyOf('other')} persistent-keepalive 25 endpoint 10.200.0.2:51820 allowed-ips 10.42.1.0/24`,
    ]);
    assert.deepEqual(batches, [
      'route replace unreachable 10.42.0.0/16 proto 199',
      `link set ${DEVICE} mtu 1420 up`,
      `addr replace 10.42.0.0/32 dev ${DEVICE}`,
      'route replace unreachable 10.42.0.0/16 proto 199',
      `route replace 10.42.1.0/24 dev ${DEVICE} proto 199`,
    ]);
    assert.deepEqual(mtus, [1420]);
    assert.deepEqual(problems, ['']);
    await end();
  });

  it('follows nodes, their keys and addresses', async () => {
    const { api, clock, end, wgSets } = await setUp({ nodes: [here] });
    wgSets.length = 0;
    api.seed(Nodes, other);
    await clock.advance(100);
    assert.match(
      wgSets.join(),
      new RegExp(`peer ${keyOf('other').replaceAll('+', '\\+')} .*endpoint 10\\.200\\.0\\.2:`),
    );
    wgSets.length = 0;
    api.modify(Nodes, 'other', () => wireguardNode('other', ['10.42.1.0/24'], ['10.200.0.9'], 0, keyOf('new')));
    await clock.advance(100);
    assert.ok(wgSets.join().includes(keyOf('new')) && wgSets.join().includes('10.200.0.9:51820'));
    await end();
  });

  it('starts no program for a change that concerns no tunnel', async () => {
    const { api, batches, clock, end, wgSets } = await setUp({ nodes: [here, other] });
    [batches.length, wgSets.length] = [0, 0];
    for (let count = 0; count < 5; count++) {
      api.modify(Nodes, 'other', (node) => ({
        ...node,
        metadata: { ...node.metadata, annotations: { ...node.metadata.annotations, count: `${count}` } },
      }));
      await clock.advance(100);
    }
    assert.deepEqual([batches, wgSets], [[], []]);
    await end();
  });

  it('a failing device leaves no way but the unreachable route, and is reported until it works', async () => {
    const { batches, clock, end, kernel, problems } = await setUp({ nodes: [here, other] });
    [kernel.fails, batches.length, problems.length] = [true, 0, 0];
    await clock.advance(31_000);
    assert.ok(problems.includes('its device is not in place'));
    assert.deepEqual(
      batches.filter((line) => line.includes(' via ')),
      [],
    );
    kernel.fails = false;
    await clock.advance(2_000);
    assert.equal(problems.at(-1), '');
    await end();
  });

  it('replaces an address of a former range, and leaves the present one and those of other scopes', async () => {
    const { batches, clock, end, kernel } = await setUp({ nodes: [here] });
    const addresses = [{}, { local: '10.42.0.0', prefixlen: 32 }, { local: '10.42.7.0', prefixlen: 32 }];
    kernel.addresses = JSON.stringify([{ addr_info: addresses }]);
    batches.length = 0;
    await clock.advance(30_000);
    assert.deepEqual(
      batches.filter((line) => line.startsWith('addr')),
      [`addr del 10.42.7.0/32 dev ${DEVICE}`],
    );
    await end();
  });

  it('reports nodes without a handshake for long', async () => {
    const { clock, end, problems } = await setUp({ nodes: [here, other] });
    await clock.advance(170_000);
    assert.equal(problems.at(-1), '');
    await clock.advance(60_000);
    assert.equal(problems.at(-1), 'no handshake for more than 3 minutes with other');
    await end();
  });

  it('without the backend, what it left is removed: device and key', async () => {
    const known = { ...here, metadata: { ...wireguardNode('here', [], []).metadata } };
    const { batches, end, own, problems, wgSets } = await setUp({ nodes: [known, other], backend: 'vxlan' });
    assert.equal(wireguardPublicKey(await own()), undefined);
    assert.deepEqual([wgSets, problems], [[], []]);
    assert.ok(batches.some((line) => line.includes('vxlan')));
    await end();
  });
});
