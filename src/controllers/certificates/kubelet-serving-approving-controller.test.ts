import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../api/gen/core-v1.ts';
import { CertificateSigningRequests, ClusterRoleBindings, EndpointSlices, Nodes } from '../../api/gen/resources.ts';
import { createRequest } from '../../component-helpers/pki/certificates.ts';
import { createSimCrypto } from '../../platform/sim/crypto.ts';
import { startServerHarness, type ServerHarness } from '../server-harness-fixture.ts';
import { createKubeletServingApprovingController, servingProblem } from './kubelet-serving-approving-controller.ts';

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
  test(`none ${name}`, () => assert.match(problem?.text ?? '', expected));

/** Node b asks for its serving certificate. */
async function askForB(h: ServerHarness): Promise<void> {
  const rbac = 'rbac.authorization.k8s.io';
  await h.create(ClusterRoleBindings, {
    metadata: { name: 'ask' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'system:node-bootstrapper' },
    subjects: [{ kind: 'Group', apiGroup: rbac, name: 'system:nodes' }],
  });
  const names = { commonName: 'system:node:b', organizations: ['system:nodes'], ipAddresses: ['10.0.0.3'] };
  const { requestPem } = await h.clock.drive(createRequest({ crypto: createSimCrypto(h.clock) }, names));
  const body = {
    metadata: { name: 'r' },
    spec: {
      request: Buffer.from(requestPem).toString('base64'),
      signerName: 'kubernetes.io/kubelet-serving',
      usages: ['digital signature', 'server auth'],
    },
  };
  const headers = { 'impersonate-user': 'system:node:b', 'impersonate-group': 'system:nodes' };
  await h.clock.drive(
    h.admin.raw({ method: 'POST', path: '/apis/certificates.k8s.io/v1/certificatesigningrequests', body, headers }),
  );
}

async function isApproved(h: ServerHarness): Promise<boolean> {
  await h.clock.advance(1000);
  return (await h.get(CertificateSigningRequests, 'r')).status?.conditions?.[0]?.type === 'Approved';
}

const moveServer = (h: ServerHarness, address: string): Promise<unknown> =>
  h.update(EndpointSlices, 'default/kubernetes', (draft) => {
    draft.endpoints = [{ addresses: [address] }];
  });

const takers: [who: string, take: (h: ServerHarness) => Promise<unknown>, free: (h: ServerHarness) => Promise<void>][] =
  [
    ['a node until it is deleted', (h) => h.create(Nodes, node('old', '10.0.0.3')), (h) => h.remove(Nodes, 'old')],
    [
      'an API server until it moves',
      (h) => moveServer(h, '10.0.0.3'),
      async (h) => void (await moveServer(h, '10.0.0.9')),
    ],
  ];
for (const [who, take, free] of takers)
  test(`an address belongs to ${who}`, async () => {
    const h = await startServerHarness([createKubeletServingApprovingController]);
    await h.create(Nodes, node('b', '10.0.0.3'));
    await take(h);
    await askForB(h);
    assert.equal(await isApproved(h), false);
    await free(h);
    assert.equal(await isApproved(h), true);
    await h.stop();
  });
