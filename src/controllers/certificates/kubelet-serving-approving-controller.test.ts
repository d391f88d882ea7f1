import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../api/gen/core-v1.ts';
import { servingProblem } from './kubelet-serving-approving-controller.ts';

const node = (name: string, ...addresses: string[]): Node => ({
  metadata: { name },
  status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
});
const nodes = [node('a', '10.0.0.2'), node('b', '10.0.0.3'), node('thief', '10.0.0.4', '10.0.0.3', '10.0.0.1')];

const ask = (name: string, { username = `system:node:${name}`, dnsNames = [name], ipAddresses = ['10.0.0.2'] } = {}) =>
  servingProblem(
    { metadata: {}, spec: { username, request: '', signerName: '' } },
    { commonName: `system:node:${name}`, organizations: [], dnsNames, ipAddresses, emailAddresses: [], uris: [] },
    { nodes, serverAddresses: new Set(['10.0.0.1']) },
  );

test('a node gets its own name and address', () => assert.equal(ask('a'), undefined));

for (const [name, problem, expected] of [
  ['for another node', ask('a', { username: 'system:node:b' }), /not the node that asks/],
  ['for a node that is not there', ask('c'), /has not registered/],
  ['for another name', ask('a', { dnsNames: ['kubernetes'] }), /names that are not/],
  ['for another address', ask('a', { ipAddresses: ['10.0.0.9'] }), /not among/],
  ['for an address of another node', ask('thief', { ipAddresses: ['10.0.0.3'] }), /belongs to another/],
  ['for an address of the API server', ask('thief', { ipAddresses: ['10.0.0.1'] }), /belongs to another/],
] as const)
  test(`none ${name}`, () => assert.match(problem ?? '', expected));
