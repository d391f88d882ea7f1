/** Addresses that endpoints may have, in all spellings. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field } from '../field-error.ts';
import { validateEndpointIp } from './core-small.ts';
import { validateEndpointSlice } from './endpoint-slice.ts';

const cases: readonly (readonly [ip: string, complaint: RegExp | undefined])[] = [
  ['10.0.0.1', undefined],
  ['fd00::1', undefined],
  ['::ffff:10.0.0.1', undefined],
  ['0.0.0.0', /may not be unspecified/],
  ['::ffff:0.0.0.0', /may not be unspecified/],
  ['127.8.8.8', /loopback range/],
  ['::1', /loopback range/],
  ['0:0:0:0:0:0:0:1', /loopback range/],
  ['::ffff:127.0.0.1', /loopback range/],
  ['169.254.169.254', /may not be in the link-local range/],
  ['::ffff:169.254.169.254', /may not be in the link-local range/],
  ['FE80::1', /may not be in the link-local range/],
  ['224.0.0.7', /link-local multicast range/],
  ['ff02::1', /link-local multicast range/],
];
for (const [ip, complaint] of cases)
  test(`${ip} is ${complaint === undefined ? 'an endpoint' : 'refused'}`, () => {
    const field = Field.root();
    validateEndpointIp(ip, field);
    assert.equal(field.errors.length, complaint === undefined ? 0 : 1);
    if (complaint !== undefined) assert.match(field.errors[0]!.text, complaint);
  });

for (const [addressType, address, fits] of [
  ['IPv4', '10.0.0.1', true],
  ['IPv6', 'fd00::1', true],
  ['IPv6', '::ffff:10.0.0.1', false],
  ['IPv4', '::ffff:10.0.0.1', false],
] as const)
  test(`a slice of ${addressType} ${fits ? 'takes' : 'refuses'} ${address}`, () => {
    const field = Field.root();
    validateEndpointSlice({ metadata: {}, addressType, endpoints: [{ addresses: [address] }], ports: [] }, field);
    assert.equal(field.errors.length, fits ? 0 : 1);
  });
