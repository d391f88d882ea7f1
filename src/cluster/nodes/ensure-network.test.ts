/** Which range a cluster's nodes get, beside routes, addresses and clusters that run or are stopped. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { writeInstanceFile } from '../instance/instance-file.ts';
import { deriveInstance } from '../instance/instance.ts';
import { ensureNodesNetwork } from './ensure-network.ts';
import { nodeBridge, writeNodesFile } from './nodes-file.ts';

interface World {
  readonly routes?: readonly { readonly dst: string; readonly dev: string }[];
  readonly addresses?: readonly string[];
  /** Networks of other clusters, which are stopped. */
  readonly stopped?: readonly string[];
}

function instanceIn(dataDir: string) {
  const ranges = { clusterCidr: '10.42.0.0/16', serviceCidr: '10.43.0.0/16', clusterDomain: 'cluster.local' };
  return deriveInstance({ dataDir, nodeName: 'a', httpsPort: 6443, ...ranges }, (text) =>
    createHash('sha256').update(text).digest('hex'),
  );
}

async function setUp({ routes = [], addresses = ['192.0.2.2'], stopped = [] }: World = {}) {
  const platform = createSimPlatform({ addresses });
  const { exec, files } = platform;
  exec.program('ip', () => ({ stdout: JSON.stringify(routes) }));
  const lock = { tryLock: () => ({ release: () => undefined }) };
  for (const [at, network] of stopped.entries()) {
    await files.makeDir(`/stopped-${at}`);
    await writeNodesFile(files, `/stopped-${at}`, { format: 1, network, nodes: [] });
  }
  const others = stopped.map((_, at) => `/stopped-${at}`);
  const settle = async (dataDir: string, more: { kept?: string; wanted?: string } = {}): Promise<string> => {
    await files.makeDir(dataDir);
    const instance = instanceIn(dataDir);
    const choice = { instance, kept: more.kept, wanted: more.wanted, clusters: async () => [dataDir, ...others] };
    return ensureNodesNetwork({ ...platform, ...lock }, choice);
  };
  return { platform, settle };
}

describe('the network of a cluster’s nodes', () => {
  it('differs from that of a cluster that is stopped, and of one that chose it a moment ago', async () => {
    const { settle } = await setUp({ stopped: ['10.58.0.0/24'] });
    assert.equal(await settle('/a'), '10.58.1.0/24');
    assert.equal(await settle('/b'), '10.58.2.0/24');
  });

  it('is kept while nothing else has it', async () => {
    const { settle } = await setUp();
    assert.equal(await settle('/a', { kept: '10.58.7.0/24' }), '10.58.7.0/24');
  });

  for (const [what, world] of [
    ['a route', { routes: [{ dst: '10.58.0.0/16', dev: 'tun0' }] }],
    ['an address', { addresses: ['10.58.7.9'] }],
    ['a cluster that is stopped', { stopped: ['10.58.7.0/24'] }],
  ] as const)
    it(`is another where ${what} has taken the former one, unless nodes use it`, async () => {
      const { platform, settle } = await setUp(world);
      const moved = await settle('/a', { kept: '10.58.7.0/24' });
      assert.notEqual(moved, '10.58.7.0/24');
      await platform.files.makeDir(`/sys/class/net/${nodeBridge(instanceIn('/a'))}`);
      assert.equal(await settle('/a', { kept: moved }), moved);
    });

  it('avoids the pods and services of clusters that are stopped', async () => {
    const { platform, settle } = await setUp({ stopped: ['10.9.0.0/24'] });
    await writeInstanceFile(platform.files, '/stopped-0', {
      format: 1,
      nodeName: 's',
      clusterCidr: '10.58.0.0/17',
      serviceCidr: '172.29.0.0/16',
      clusterDomain: 'cluster.local',
      httpsPort: 1,
      kubeletPort: 2,
    });
    assert.equal(await settle('/a'), '192.168.224.0/24');
  });

  it('is that of the user, or is refused with the conflict', async () => {
    const { settle } = await setUp({ stopped: ['10.58.0.0/24'], routes: [{ dst: '10.0.0.0/8', dev: 'tun0' }] });
    assert.equal(await settle('/a', { wanted: '10.70.0.0/24', kept: '10.58.3.0/24' }), '10.70.0.0/24');
    await assert.rejects(settle('/a', { wanted: '10.58.0.0/27' }), /overlaps 10\.58\.0\.0\/24, which the cluster in /);
    await assert.rejects(settle('/a', { wanted: '10.42.7.0/24' }), /overlaps 10\.42\.0\.0\/16, which this cluster has/);
  });
});
