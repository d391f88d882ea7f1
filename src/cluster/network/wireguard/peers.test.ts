import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../../api/gen/core-v1.ts';
import { wireguardPublicKey } from '../../../component-helpers/wireguard-annotations.ts';
import { keyOf, wireguardNode } from './wireguard-fixture.ts';
import { wireguardPeers } from './peers.ts';

const own = {
  nodeName: 'a',
  addresses: new Set(['192.0.2.1']),
  clusterRanges: ['10.42.0.0/16', 'fd42::/56'],
  podCidrs: ['10.42.0.0/24', 'fd42::/64'],
};
const peersOf = (...nodes: Node[]) => wireguardPeers(nodes, own, keyOf('a'));

test('a peer has the key and the address of its node, and the ranges of both families', () => {
  const nodes = [
    wireguardNode('a', ['10.42.0.0/24'], ['192.0.2.1']),
    wireguardNode('b', ['fd42:0:0:1::/64', '10.42.1.0/24'], ['192.0.2.2', '2001:db8::2']),
    wireguardNode('c', ['10.42.2.0/24'], ['2001:db8::3']),
  ];
  const { peers, refused } = peersOf(...nodes);
  assert.deepEqual(
    peers.toSorted((x, y) => (x.nodeName < y.nodeName ? -1 : 1)),
    [
      {
        nodeName: 'b',
        publicKey: keyOf('b'),
        endpoint: '192.0.2.2:51820',
        allowedIps: ['10.42.1.0/24', 'fd42:0:0:1::/64'],
      },
      { nodeName: 'c', publicKey: keyOf('c'), endpoint: '[2001:db8::3]:51820', allowedIps: ['10.42.2.0/24'] },
    ],
  );
  assert.deepEqual(refused, []);
  assert.deepEqual(peersOf(...nodes.toReversed()).peers, peers);
});

test('nodes without a key, a range or an address of another machine are no peers', () => {
  const plain = wireguardNode('b', ['10.42.1.0/24'], ['192.0.2.2']);
  const { peers, refused } = peersOf(
    { ...plain, metadata: { name: 'b' } },
    wireguardNode('c', [], ['192.0.2.3']),
    wireguardNode('d', ['10.42.4.0/24'], []),
    wireguardNode('e', ['10.42.5.0/24'], ['192.0.2.1', '127.0.0.1', '10.42.0.9']),
  );
  assert.deepEqual([peers, refused], [[], []]);
});

test('a node gets no range outside the cluster’s, nor one of another node', () => {
  const victim = wireguardNode('b', ['10.42.1.0/24'], ['192.0.2.2'], 1);
  for (const range of ['0.0.0.0/0', '10.42.0.0/16', '10.42.0.0/24', '10.42.1.0/25', '::/0', '198.51.100.0/24']) {
    const { peers, refused } = peersOf(wireguardNode('evil', [range], ['192.0.2.9'], 2), victim);
    assert.deepEqual(
      peers.map(({ nodeName }) => nodeName),
      ['b'],
      range,
    );
    assert.deepEqual(refused, [`evil ${range}`]);
  }
});

test('a node does not become the peer that another node or this one is, by publishing its key', () => {
  const victim = wireguardNode('b', ['10.42.1.0/24'], ['192.0.2.2'], 1);
  for (const [holder, of] of [
    ['a', 'a'],
    ['b', 'b'],
  ] as const) {
    const evil = wireguardNode('evil', ['10.42.9.0/24'], ['192.0.2.9'], 2, keyOf(of));
    const { peers, refused } = peersOf(evil, victim);
    assert.deepEqual(
      peers.map(({ nodeName, endpoint, allowedIps }) => [nodeName, endpoint, allowedIps]),
      [['b', '192.0.2.2:51820', ['10.42.1.0/24']]],
    );
    assert.deepEqual(refused, [`evil has the key of ${holder}`]);
  }
});

test('what is no key in its one form is none', () => {
  const annotated = (data: string, type = 'wireguard'): Node => ({
    metadata: {
      name: 'b',
      annotations: { 'flannel.alpha.coreos.com/backend-type': type, 'flannel.alpha.coreos.com/backend-data': data },
    },
  });
  const key = keyOf('b');
  assert.equal(wireguardPublicKey(annotated(JSON.stringify({ PublicKey: key }))), key);
  assert.equal(wireguardPublicKey(annotated(JSON.stringify({ PublicKey: key }), 'vxlan')), undefined);
  for (const data of [
    '',
    '{',
    'null',
    '[]',
    '{"PublicKey":1}',
    JSON.stringify({ PublicKey: key.slice(1) }),
    JSON.stringify({ PublicKey: ` ${key}` }),
    JSON.stringify({ PublicKey: `${key}\n` }),
    // Unused bits set: another text for the same bytes.
    JSON.stringify({ PublicKey: `${key.slice(0, 42)}B=` }),
  ])
    assert.equal(wireguardPublicKey(annotated(data)), undefined, data);
});
