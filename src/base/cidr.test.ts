import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  cidrContains,
  cidrsOverlap,
  cidrSize,
  formatCidr,
  formatIp,
  nthAddress,
  nthSubnet,
  parseCidr,
  parseIp,
  reverseName,
} from './cidr.ts';

const addresses: readonly (readonly [string, string | undefined])[] = [
  ['10.0.0.1', '10.0.0.1'],
  ['255.255.255.255', '255.255.255.255'],
  ['0.0.0.0', '0.0.0.0'],
  ['010.0.0.1', undefined],
  ['256.0.0.1', undefined],
  ['1.2.3', undefined],
  ['1.2.3.4.5', undefined],
  ['', undefined],
  ['::', '::'],
  ['::1', '::1'],
  ['FE80::0001', 'fe80::1'],
  ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
  ['::ffff:1.2.3.4', '::ffff:1.2.3.4'],
  ['1:2:3:4:5:6:7:8:9', undefined],
  ['1::2::3', undefined],
  ['1:2:3:4:5:6:7', undefined],
  ['::12345', undefined],
  ['1.2.3.4::', undefined],
];
for (const [text, want] of addresses) {
  test(`parseIp ${JSON.stringify(text)}`, () => {
    const ip = parseIp(text);
    assert.equal(ip === undefined ? undefined : formatIp(ip), want);
  });
}

test('size, addresses and subnets of an address range', () => {
  const cidr = parseCidr('10.42.7.9/16')!;
  assert.equal(formatCidr(cidr), '10.42.0.0/16');
  assert.equal(cidrSize(cidr), 65_536n);
  assert.equal(cidrContains(cidr, parseIp('10.42.255.255')!), true);
  assert.equal(cidrContains(cidr, parseIp('10.43.0.0')!), false);
  assert.equal(cidrContains(cidr, parseIp('::1')!), false);
  assert.equal(formatIp(nthAddress(cidr, 257)!), '10.42.1.1');
  assert.equal(nthAddress(cidr, 65_536), undefined);
  assert.equal(formatCidr(nthSubnet(cidr, 24, 3)!), '10.42.3.0/24');
  assert.equal(nthSubnet(cidr, 24, 256), undefined);
  assert.equal(cidrsOverlap(cidr, parseCidr('10.42.8.0/24')!), true);
  assert.equal(cidrsOverlap(cidr, parseCidr('10.43.0.0/16')!), false);
  for (const bad of ['10.0.0.0', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/08', '::/129', 'x/8']) {
    assert.equal(parseCidr(bad), undefined, bad);
  }
});

test('reverse DNS names of IPv4 and IPv6 addresses', () => {
  assert.equal(reverseName(parseIp('10.1.2.3')!), '3.2.1.10.in-addr.arpa.');
  assert.match(reverseName(parseIp('::1')!), /^1(\.0){31}\.ip6\.arpa\.$/);
});
