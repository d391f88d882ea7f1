import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkNetwork, chooseNetwork } from './choose-network.ts';

const routed = (...cidrs: readonly string[]) => cidrs.map((cidr) => ({ cidr, device: 'tun0', isRoute: true }));

describe('the network of nodes', () => {
  it('is the first free one, in more than one of the private ranges', () => {
    for (const [others, network] of [
      [[], '10.58.0.0/24'],
      [['10.58.0.7/32', '10.42.0.0/16,fd42::/56', '10.58.2.0/23'], '10.58.1.0/24'],
      [['10.0.0.0/8'], '172.29.240.0/24'],
      [['10.0.0.0/8', '172.16.0.0/12'], '192.168.224.0/24'],
      [['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'], undefined],
    ] as const)
      assert.equal(chooseNetwork(routed(...others)), network, others.join());
  });

  it('of a user may be part of a routed range, and overlap nothing else', () => {
    checkNetwork('10.9.0.0/24', routed('10.0.0.0/8', '192.0.2.0/24'));
    for (const other of [
      { cidr: '10.9.0.0/24', device: 'tun0', isRoute: true },
      { cidr: '10.9.0.128/25', device: 'tun0', isRoute: true },
      { cidr: '10.0.0.0/8', device: 'the cluster in /b' },
      { cidr: '10.9.0.4/32', device: 'eth0' },
    ])
      assert.throws(() => checkNetwork('10.9.0.0/24', [other]), {
        name: 'PreflightError',
        message: `--nodes-network: 10.9.0.0/24 overlaps ${other.cidr}, which ${other.device} has; choose another`,
      });
  });
});
