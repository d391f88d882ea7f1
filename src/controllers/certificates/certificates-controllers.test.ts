import assert from 'node:assert/strict';
import { webcrypto, X509Certificate } from 'node:crypto';
import { describe, it } from 'node:test';
import { CertificateSigningRequests, ClusterRoleBindings, Nodes } from '../../api/gen/resources.ts';
import type { CertificateSigningRequest } from '../../api/gen/certificates-v1.ts';
import { createAuthority } from '../../component-helpers/pki/certificates.ts';
import { createSimCrypto } from '../../platform/sim/crypto.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createCsrApprovingController } from './csr-approving-controller.ts';
import { createCsrCleanerController } from './csr-cleaner-controller.ts';
import { createCsrSigningController } from './csr-signing-controller.ts';
import { startServerHarness, type ServerHarness } from '../server-harness-fixture.ts';

async function pem(commonName: string, organization: string, dns: readonly string[] = []): Promise<string> {
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  const keys = await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
  const csr = await x509.Pkcs10CertificateRequestGenerator.create({
    name: [{ O: [organization] }, { CN: [commonName] }],
    keys: keys as never,
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    extensions:
      dns.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(dns.map((value) => ({ type: 'dns', value })))],
  });
  return Buffer.from(csr.toString('pem')).toString('base64');
}
async function start(): Promise<ServerHarness> {
  const clock = new VirtualClock();
  const making = createAuthority(
    { crypto: createSimCrypto(clock), random: createSeededRandom(2), nowMs: () => clock.nowMs() },
    'ca',
    10 * 365 * 86_400_000,
  );
  const clusterSigning = await clock.drive(making);
  return await startServerHarness(
    [createCsrSigningController, createCsrApprovingController, createCsrCleanerController],
    { clusterSigning },
  );
}
const CLIENT_USAGES = ['digital signature', 'client auth'];
const get = (h: ServerHarness): Promise<CertificateSigningRequest> => h.get(CertificateSigningRequests, 'r');
const approve = async (h: ServerHarness): Promise<void> => {
  const csr = await get(h);
  const conditions = [{ type: 'Approved', status: 'True', reason: 'ByHand', message: 'ok' }];
  await h.clock.drive(
    h.admin
      .resource(CertificateSigningRequests)
      .update({ ...csr, status: { conditions } }, { subresource: 'approval' }),
  );
};
const create = (h: ServerHarness, spec: object): Promise<unknown> =>
  h.create(CertificateSigningRequests, { metadata: { name: 'r' }, spec });

describe('certificate requests', () => {
  it('signs approved requests, and no others', async () => {
    const h = await start();
    await create(h, {
      request: await pem('jane', 'team'),
      signerName: 'kubernetes.io/kube-apiserver-client',
      usages: CLIENT_USAGES,
      expirationSeconds: 3600,
    });
    await h.clock.advance(1000);
    assert.equal((await get(h)).status?.certificate, undefined);
    await approve(h);
    await h.clock.advance(1000);
    const cert = new X509Certificate(Buffer.from((await get(h)).status?.certificate ?? '', 'base64'));
    assert.match(cert.subject, /O=team/);
    assert.match(cert.subject, /CN=jane/);
    assert.ok(cert.validToDate.getTime() <= h.clock.nowMs() + 3600_000);
    await h.stop();
  });

  const refused: [what: string, name: string, organization: string, dns: string[], spec: object, message: RegExp][] = [
    [
      'a wrong organization',
      'system:node:a',
      'team',
      [],
      { signerName: 'kubernetes.io/kube-apiserver-client-kubelet', usages: CLIENT_USAGES },
      /^subject organization is not system:nodes$/,
    ],
    [
      'names in a kubelet client',
      'system:node:a',
      'system:nodes',
      ['a'],
      { signerName: 'kubernetes.io/kube-apiserver-client-kubelet', usages: CLIENT_USAGES },
      /^DNS subjectAltNames are not allowed$/,
    ],
    [
      'a server without names',
      'system:node:a',
      'system:nodes',
      [],
      { signerName: 'kubernetes.io/kubelet-serving', usages: ['digital signature', 'server auth'] },
      /^DNS or IP subjectAltName is required$/,
    ],
    [
      'server usage of a client',
      'jane',
      'team',
      [],
      { signerName: 'kubernetes.io/kube-apiserver-client', usages: ['server auth'] },
      /^invalid usages/,
    ],
  ];
  for (const [what, name, organization, dns, spec, message] of refused) {
    it(`refuses ${what}`, async () => {
      const h = await start();
      await create(h, { request: await pem(name, organization, dns), ...spec });
      await approve(h);
      await h.clock.advance(1000);
      const { status } = await get(h);
      const failed = status?.conditions?.find((condition) => condition.type === 'Failed');
      assert.equal(failed?.reason, 'SignerValidationFailure');
      assert.match(failed?.message ?? '', message);
      assert.equal(status?.certificate, undefined);
      await h.stop();
    });
  }

  const requesters: [user: string, group: string, approved: boolean][] = [
    ['system:bootstrap:abcdef', 'system:bootstrappers', true],
    ['bob', 'developers', false],
  ];
  for (const [user, group, approved] of requesters) {
    it(`${approved ? 'approves' : 'leaves to people'} a kubelet's request by ${user}, and forgets it in time`, async () => {
      const h = await start();
      const roleRef = {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: 'system:certificates.k8s.io:certificatesigningrequests:nodeclient',
      };
      const subjects = [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:bootstrappers' }];
      await h.create(ClusterRoleBindings, { metadata: { name: 'kubelets' }, roleRef, subjects });
      const mayAsk = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:node-bootstrapper' };
      await h.create(ClusterRoleBindings, {
        metadata: { name: 'ask' },
        roleRef: mayAsk,
        subjects: [{ ...subjects[0], name: group }],
      });
      const body = {
        metadata: { name: 'r' },
        spec: {
          request: await pem('system:node:a', 'system:nodes'),
          signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
          usages: CLIENT_USAGES,
        },
      };
      const headers = { 'impersonate-user': user, 'impersonate-group': group };
      await h.clock.drive(
        h.admin.raw({ method: 'POST', path: '/apis/certificates.k8s.io/v1/certificatesigningrequests', body, headers }),
      );
      await h.clock.advance(1000);
      const { spec, status } = await get(h);
      assert.equal(spec.username, user);
      const conditions = status?.conditions?.map((c) => `${c.type} ${c.reason} ${c.message}`);
      assert.deepEqual(
        conditions,
        approved
          ? ['Approved AutoApproved Auto approving kubelet client certificate after SubjectAccessReview.']
          : undefined,
      );
      assert.equal(status?.certificate !== undefined, approved);
      await h.clock.advance(approved ? 3 * 3600_000 : 23 * 3600_000);
      assert.equal((await h.list(CertificateSigningRequests)).length, approved ? 0 : 1);
      await h.clock.advance(3 * 3600_000);
      assert.equal((await h.list(CertificateSigningRequests)).length, 0);
      await h.stop();
    });
  }

  it('approves a kubelet’s request once its user may have it, though the right comes later', async () => {
    const h = await start();
    const rbac = 'rbac.authorization.k8s.io';
    const subjects = [{ kind: 'Group', apiGroup: rbac, name: 'system:bootstrappers' }];
    const bind = (name: string, role: string): Promise<unknown> =>
      h.create(ClusterRoleBindings, {
        metadata: { name },
        roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
        subjects,
      });
    await bind('ask', 'system:node-bootstrapper');
    const body = {
      metadata: { name: 'r' },
      spec: {
        request: await pem('system:node:a', 'system:nodes'),
        signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
        usages: CLIENT_USAGES,
      },
    };
    const headers = { 'impersonate-user': 'system:bootstrap:abcdef', 'impersonate-group': 'system:bootstrappers' };
    await h.clock.drive(
      h.admin.raw({ method: 'POST', path: '/apis/certificates.k8s.io/v1/certificatesigningrequests', body, headers }),
    );
    await h.clock.advance(60_000);
    assert.equal((await get(h)).status?.certificate, undefined);
    await bind('client', 'system:certificates.k8s.io:certificatesigningrequests:nodeclient');
    await h.clock.advance(120_000);
    assert.notEqual((await get(h)).status?.certificate, undefined);
    const told = h.log.entries.filter(({ fields }) => String(fields['why']).includes('subject access review'));
    assert.deepEqual(
      told.filter(({ level }) => level !== 'debug').map(({ level }) => level),
      ['info'],
    );
    await h.stop();
  });

  for (const [user, group, gone] of [
    ['system:bootstrap:abcdef', 'system:bootstrappers', 'not Ready'],
    ['system:bootstrap:abcdef', 'system:bootstrappers', 'deleted'],
    ['system:node:a', 'system:nodes', undefined],
  ] as const)
    it(`gives the name of a node that is Ready to ${gone === undefined ? 'itself' : `others once it is ${gone}`}`, async () => {
      const h = await start();
      const rbac = 'rbac.authorization.k8s.io';
      const all = 'system:certificates.k8s.io:certificatesigningrequests';
      const bind = (name: string, role: string, to: string): Promise<unknown> =>
        h.create(ClusterRoleBindings, {
          metadata: { name },
          roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
          subjects: [{ kind: 'Group', apiGroup: rbac, name: to }],
        });
      await bind('client', `${all}:nodeclient`, 'system:bootstrappers');
      await bind('self', `${all}:selfnodeclient`, 'system:nodes');
      await bind('ask', 'system:node-bootstrapper', group);
      const ready = (status: string): object => ({ conditions: [{ type: 'Ready', status, reason: 'R', message: '' }] });
      await h.create(Nodes, { metadata: { name: 'a' }, status: ready('True') });
      await h.clock.advance(1000);
      const body = {
        metadata: { name: 'r' },
        spec: {
          request: await pem('system:node:a', 'system:nodes'),
          signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
          usages: CLIENT_USAGES,
        },
      };
      const headers = { 'impersonate-user': user, 'impersonate-group': group };
      await h.clock.drive(
        h.admin.raw({ method: 'POST', path: '/apis/certificates.k8s.io/v1/certificatesigningrequests', body, headers }),
      );
      await h.clock.advance(1000);
      assert.equal((await get(h)).status?.certificate !== undefined, gone === undefined);
      const nodes = h.admin.resource(Nodes);
      if (gone === 'deleted') await h.clock.drive(nodes.delete({ name: 'a' }));
      else
        await h.clock.drive(
          nodes.patch({ name: 'a' }, { type: 'merge', patch: { status: ready('Unknown') } }, { subresource: 'status' }),
        );
      await h.clock.advance(1000);
      assert.notEqual((await get(h)).status?.certificate, undefined);
      await h.stop();
    });
});
