/** The network of the nodes, with a function in place of `ip`. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { deriveInstance } from '../instance/instance.ts';
import { connectNode, ensureNodeNetwork } from './node-network.ts';
import { nodeBridge, nodeLocation } from './nodes-file.ts';

const NETWORK = '10.58.0.0/24';

function setUp(dataDir = '/data') {
  const platform = createSimPlatform();
  const instance = deriveInstance(
    {
      ...{ dataDir, nodeName: 'here', clusterCidr: '10.42.0.0/16', serviceCidr: '10.43.0.0/16' },
      ...{ clusterDomain: 'cluster.local', httpsPort: 6443 },
    },
    (text) => platform.crypto.sha256Hex(text),
  );
  const lines: string[] = [];
  const program = ({ options }: { readonly options: { readonly input?: unknown } }): object => {
    lines.push(...String(options.input).trim().split('\n'));
    return {};
  };
  platform.exec.program('ip', program);
  platform.exec.program('nsenter', program);
  platform.exec.program('nft', () => ({}));
  platform.exec.program('iptables', () => ({ exitCode: 1 }));
  return { platform, instance, lines };
}

describe('the network of the nodes of a machine', () => {
  it('has a bridge with its own address, which no change of the nodes changes', async () => {
    const macs = await Promise.all(
      ['/a', '/b'].map(async (dataDir) => {
        const { platform, instance, lines } = setUp(dataDir);
        await ensureNodeNetwork(platform, instance, NETWORK);
        const made = lines.find((line) => line.startsWith('link add')) ?? '';
        return new RegExp(`^link add ${nodeBridge(instance)} address (02(:[0-9a-f]{2}){5}) type bridge$`).exec(
          made,
        )?.[1];
      }),
    );
    assert.ok(macs.every((mac) => mac !== undefined));
    assert.equal(new Set(macs).size, 2);
  });

  it('has the cable of a node at its bridge, also where the bridge was made again', async () => {
    const { platform, instance, lines } = setUp();
    const place = nodeLocation(instance, NETWORK, { name: 'here-2', number: 2 });
    await platform.files.makeDir(`/sys/class/net/${place.device}`);
    await connectNode(platform, instance, {
      ...{ place, network: NETWORK, holder: 7, hostAddress: '192.0.2.1', connected: true },
    });
    assert.equal(lines[0], `link set ${place.device} master ${nodeBridge(instance)}`);
  });
});
