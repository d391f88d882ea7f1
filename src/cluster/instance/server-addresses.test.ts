import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkKubeletAddress } from '../node/kubelet-checks.ts';
import { advertisedAddress, checkBindAddress, listenAddress, localServerUrl } from './server-addresses.ts';

const at = (name: string, address: string): Parameters<typeof advertisedAddress>[1][number] => ({
  name,
  address,
  family: address.includes(':') ? 6 : 4,
  internal: name === 'lo',
  cidr: `${address}/${address.includes(':') ? 64 : 24}`,
});
const interfaces = [at('lo', '127.0.0.1'), at('eth0', '10.0.0.5'), at('eth1', '192.168.7.5'), at('eth1', 'fd00::5')];

const cases = [
  // flags, listens on, address for this machine, advertised
  [{}, '0.0.0.0', 'https://127.0.0.1:6443', '10.0.0.5'],
  [{ bindAddress: '0.0.0.0' }, '0.0.0.0', 'https://127.0.0.1:6443', '10.0.0.5'],
  [{ bindAddress: '::' }, '::', 'https://127.0.0.1:6443', '10.0.0.5'],
  [{ bindAddress: '::', nodeIp: '192.168.7.5' }, '::', 'https://127.0.0.1:6443', '192.168.7.5'],
  [{ bindAddress: '192.168.7.5' }, '192.168.7.5', 'https://192.168.7.5:6443', '192.168.7.5'],
  [{ bindAddress: '192.168.7.5', nodeIp: '10.0.0.5' }, '192.168.7.5', 'https://192.168.7.5:6443', '192.168.7.5'],
  [{ bindAddress: 'fd00::5' }, 'fd00::5', 'https://[fd00::5]:6443', 'fd00::5'],
  [
    { bindAddress: '192.168.7.5', advertiseAddress: '203.0.113.1' },
    '192.168.7.5',
    'https://192.168.7.5:6443',
    '203.0.113.1',
  ],
  [{ bindAddress: '127.0.0.1', disableAgent: true }, '127.0.0.1', 'https://127.0.0.1:6443', '10.0.0.5'],
] as const;

for (const [asked, listens, local, advertised] of cases)
  test(`${JSON.stringify(asked)}: listens on ${listens}, is ${local} here and ${advertised} elsewhere`, () => {
    checkBindAddress(asked, interfaces);
    assert.deepEqual(
      [listenAddress(asked), localServerUrl(asked, 6443), advertisedAddress(asked, interfaces)],
      [listens, local, advertised],
    );
  });

test('an address of another machine is refused, and so is loopback where pods need the server', () => {
  const foreign = { message: '--bind-address: 10.0.0.6 is not an address of this machine' };
  assert.throws(() => checkBindAddress({ bindAddress: '10.0.0.6' }, interfaces), foreign);
  for (const bindAddress of ['127.0.0.1', '127.1.2.3', '::1'])
    assert.throws(
      () => checkBindAddress({ bindAddress }, interfaces),
      /^PreflightError: --bind-address: pods do not reach/,
    );
  checkBindAddress({ bindAddress: 'fd00:0:0::5' }, interfaces);
});

test('the kubelet of a node listens on all addresses or on one of the node', () => {
  for (const address of ['0.0.0.0', '::', '10.0.0.5']) checkKubeletAddress(address, ['10.0.0.5', 'fd00::5']);
  assert.throws(() => checkKubeletAddress('127.0.0.1', ['10.0.0.5']), /none of its node's \(10\.0\.0\.5\)/);
});
