import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodePortAddressesProblem, nodePortRanges, wantsLoopbackNodePorts } from './node-port-addresses.ts';

const node = (...addresses: readonly (readonly [type: string, address: string])[]) => ({
  metadata: { name: 'n' },
  status: { addresses: addresses.map(([type, address]) => ({ type, address })) },
});

describe('the ranges that serve node ports', () => {
  const own = node(
    ['Hostname', 'n'],
    ['ExternalIP', '198.51.100.1'],
    ['InternalIP', '192.0.2.1'],
    ['InternalIP', '192.0.2.7'],
    ['InternalIP', 'fd00::1'],
  );
  for (const [what, list, expected4, expected6] of [
    ['nothing said: all', [], undefined, undefined],
    ['a range of each family', ['10.1.2.3/8', 'fd00::/8'], ['10.0.0.0/8'], ['fd00::/8']],
    ['of one family: all of the other', ['10.0.0.0/8'], ['10.0.0.0/8'], undefined],
    ['everything', ['10.0.0.0/8', '0.0.0.0/0', '::/0'], undefined, undefined],
    ['twice, and within another', ['10.1.0.0/16', '10.0.0.0/8', '10.0.0.0/8'], ['10.0.0.0/8'], undefined],
    ['primary', ['primary'], ['192.0.2.1/32'], ['fd00::1/128']],
  ] as const)
    it(what, () => {
      assert.deepEqual(nodePortRanges(list, { family: 4, node: own }), expected4);
      assert.deepEqual(nodePortRanges(list, { family: 6, node: own }), expected6);
    });

  it('primary: an external address without an internal one, never loopback, none of an unknown node', () => {
    const outer = node(['ExternalIP', '198.51.100.1'], ['InternalIP', '::1']);
    assert.deepEqual(nodePortRanges(['primary'], { family: 4, node: outer }), ['198.51.100.1/32']);
    assert.deepEqual(nodePortRanges(['primary'], { family: 6, node: outer }), []);
    assert.deepEqual(nodePortRanges(['primary'], { family: 4, node: undefined }), []);
  });
});

describe('errors of a list', () => {
  const at = (index: number, value: string, detail: string): string =>
    `KubeProxyConfiguration.NodePortAddresses[${index}]: Invalid value: ${value}: ${detail}`;
  const mixed = "can't use both 'primary' and CIDRs";
  for (const [list, expected] of [
    [[], ''],
    [['primary'], ''],
    [['127.0.0.0/8', '::/0', '10.20.30.0/24'], ''],
    [['foo'], at(0, '"foo"', 'must be a valid CIDR')],
    [['127.0.0.1/32', '10.20.30.40', '1.2.3.0/24'], at(1, '"10.20.30.40"', 'must be a valid CIDR')],
    [
      ['::0', '2001:db8::/129'],
      [at(0, '"::0"', 'must be a valid CIDR'), at(1, '"2001:db8::/129"', 'must be a valid CIDR')].join('; '),
    ],
    [['primary', '127.0.0.1/32'], at(0, '"primary"', mixed)],
    [['127.0.0.1/32', 'primary'], at(1, '"primary"', mixed)],
    [[7], at(0, '7', 'must be a valid CIDR')],
  ] as const)
    it(JSON.stringify(list), () => assert.equal(nodePortAddressesProblem(list), expected));
});

it('loopback ranges are recognized', () => {
  for (const [list, expected] of [
    [['127.0.0.0/8'], true],
    [['10.0.0.0/8', '::1/128'], true],
    [['10.0.0.0/8', '0.0.0.0/0', '::/0', 'primary'], false],
  ] as const)
    assert.equal(wantsLoopbackNodePorts(list), expected, list.join());
});
