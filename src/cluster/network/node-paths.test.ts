import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../api/gen/core-v1.ts';
import { nodePaths, tunnelEnd } from './node-paths.ts';

const node = (name: string, podCidr: string | undefined, ...ips: string[]): Node => ({
  metadata: { name },
  ...(podCidr === undefined ? {} : { spec: { podCIDR: podCidr, podCIDRs: [podCidr] } }),
  status: {
    addresses: [{ type: 'Hostname', address: name }, ...ips.map((address) => ({ type: 'InternalIP', address }))],
  },
});
const own = {
  nodeName: 'a',
  links: ['192.168.1.10/24', 'fe80::1/64'],
  addresses: new Set(['192.168.1.10', 'fe80::1']),
  clusterRanges: ['10.42.0.0/16', 'fd42::/48'],
  podCidrs: ['10.42.0.0/24'],
};

test('neighbours are next hops, others are reached by a tunnel, this node by neither', () => {
  const nodes = [
    node('c', '10.42.2.0/24', '192.168.2.12'),
    node('a', '10.42.0.0/24', '192.168.1.10'),
    node('b', '10.42.1.0/24', '192.168.1.11'),
  ];
  assert.deepEqual(nodePaths(nodes, own).paths, [
    { podCidr: '10.42.1.0/24', nodeIp: '192.168.1.11', via: 'link', gateway: '192.168.1.11', mac: '0a:58:0a:2a:01:00' },
    { podCidr: '10.42.2.0/24', nodeIp: '192.168.2.12', via: 'vxlan', gateway: '10.42.2.0', mac: '0a:58:0a:2a:02:00' },
  ]);
});

test('nodes without a range, or without an address of its family, have no path', () => {
  const nodes = [
    node('b', undefined, '192.168.1.11'),
    node('c', 'fd42:0:0:1::/64', '192.168.1.12'),
    node('d', '10.42.3.0/24'),
  ];
  assert.deepEqual(nodePaths(nodes, own).paths, []);
});

test('a second range uses the link where there is one, else the tunnel of the first', () => {
  const dual = (name: string, number: number, ...ips: string[]): Node => {
    const podCIDRs = [`10.42.${number}.0/24`, `fd42:0:0:${number}::/64`];
    return { ...node(name, podCIDRs[0], ...ips), spec: { podCIDRs } };
  };
  const nodes = [dual('b', 1, '192.168.1.11', 'fd30::11'), dual('c', 2, '192.168.2.12')];
  const { paths } = nodePaths(nodes, { ...own, links: ['192.168.1.10/24', 'fd30::10/64'] });
  assert.deepEqual(
    paths.map(({ podCidr, via, gateway, nodeIp, mac }) => [podCidr, via, gateway, nodeIp, mac]),
    [
      ['10.42.1.0/24', 'link', '192.168.1.11', '192.168.1.11', '0a:58:0a:2a:01:00'],
      ['10.42.2.0/24', 'vxlan', '10.42.2.0', '192.168.2.12', '0a:58:0a:2a:02:00'],
      ['fd42:0:0:1::/64', 'link', 'fd30::11', 'fd30::11', '0a:58:00:00:00:01'],
      ['fd42:0:0:2::/64', 'vxlan', 'fd42:0:0:2::', '192.168.2.12', '0a:58:0a:2a:02:00'],
    ],
  );
});

test('tunnel ends of different ranges differ', () => {
  assert.notEqual(tunnelEnd('10.42.1.0/24').mac, tunnelEnd('10.43.1.0/24').mac);
  assert.equal(tunnelEnd('fd00:42:0:1::/64').mac, '0a:58:00:00:00:01');
});

/** As a node that was made at that second. */
const made = (second: number, of: Node): Node => ({
  ...of,
  metadata: { ...of.metadata, uid: of.metadata.name, creationTimestamp: `2026-01-01T00:00:0${second}Z` },
});

test('ranges outside the cluster, of this node or of an older one are ignored, in every spelling', () => {
  const older = made(1, node('b', '10.42.8.0/24', '192.168.1.11'));
  for (const range of [
    '0.0.0.0/0',
    '0.0.0.0/1',
    '198.51.100.0/24',
    '10.42.0.0/16',
    '10.42.0.0/24',
    '10.42.0.128/25',
    '10.42.0.0/17',
    '10.42.8.0/24',
    '10.42.8.4/30',
    '10.42.8.0/21',
    '10.42.9.1/24',
    '::/0',
    'fd42::/48',
    'fd43::/64',
  ]) {
    const evil = made(2, node('evil', range, '192.168.1.99', 'fd30::99'));
    const { paths, refused } = nodePaths([evil, older], own);
    assert.deepEqual(
      paths.map(({ podCidr }) => podCidr),
      ['10.42.8.0/24'],
      range,
    );
    assert.deepEqual(refused, [`evil ${range}`]);
  }
  const free = made(2, node('c', '10.42.9.0/24', '192.168.1.99'));
  assert.equal(nodePaths([free, older], own).paths.length, 2);
});

test('a node is not reached through an address that is not another machine’s', () => {
  for (const address of ['192.168.1.10', '127.0.0.1', '0.0.0.0', '224.0.0.1', '255.255.255.255', '10.42.1.1', 'x;y'])
    assert.deepEqual(nodePaths([node('b', '10.42.1.0/24', address)], own).paths, [], address);
});

test('five thousand nodes with a range each have a path each', () => {
  const nodes = Array.from({ length: 5000 }, (_, i) =>
    node(`n${i}`, `10.${64 + (i >> 8)}.${i & 255}.0/24`, `192.168.${2 + (i >> 8)}.${i & 255}`),
  );
  assert.equal(nodePaths(nodes, { ...own, clusterRanges: ['10.64.0.0/10'], podCidrs: [] }).paths.length, 5000);
});
