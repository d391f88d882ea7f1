/** Certificates by request: asked for, kept, taken up again, renewed in time, refused. */
import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { it } from 'node:test';
import type { CertificateSigningRequest } from '../../api/gen/certificates-v1.ts';
import type { Client } from '../../client/client.ts';
import { createAuthority, signRequest, type KeyPairPem } from '../../component-helpers/pki/certificates.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createCertificateManager } from './certificate-manager.ts';

const HOUR_MS = 3_600_000;

it('asks, keeps, takes up again and renews; a denied request is an error', async () => {
  const platform = createSimPlatform();
  const crypto = { ...platform.crypto, webcrypto } as unknown as BasePlatform['crypto'];
  const { clock, random, files } = platform;
  const deps = { crypto, random, nowMs: () => clock.nowMs() };
  const ca = await createAuthority(deps, 'ca', 1000 * HOUR_MS);
  const asked: (KeyPairPem | undefined)[] = [];
  let denied = false;
  let last: CertificateSigningRequest | undefined;
  const answer = async (): Promise<CertificateSigningRequest> => {
    if (denied) return { ...last!, status: { conditions: [{ type: 'Denied', status: 'True', reason: 'No' }] } };
    const pem = Buffer.from(last!.spec.request, 'base64').toString();
    const spec = { commonName: 'system:node:n', usages: ['client'] as const, validityMs: 10 * HOUR_MS };
    const certPem = await signRequest(deps, ca, { pem, spec });
    return { ...last!, status: { certificate: Buffer.from(certPem).toString('base64') } };
  };
  const make = () =>
    createCertificateManager(
      {
        platform: { ...platform, crypto },
        client: (current) => {
          asked.push(current);
          return {
            resource: () => ({
              create: async (csr: CertificateSigningRequest) => (last = { ...csr, metadata: { name: 'csr-1' } }),
              get: answer,
            }),
          } as unknown as Client;
        },
      },
      {
        directory: '/pki',
        name: 'kubelet-client',
        signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
        usages: ['digital signature', 'client auth'],
        template: () => ({ commonName: 'system:node:n', organizations: ['system:nodes'] }),
      },
    );
  const { signal } = new AbortController();
  const first = make();
  assert.equal(await first.load(), false);
  await first.rotate(signal);
  assert.equal(last?.spec.signerName, 'kubernetes.io/kube-apiserver-client-kubelet');
  assert.match(first.current()?.certPem ?? '', /BEGIN CERTIFICATE/);
  const text = await files.readText('/pki/kubelet-client-current.pem');
  assert.ok(text.includes('BEGIN CERTIFICATE') && text.includes('BEGIN PRIVATE KEY'));
  const second = make();
  assert.equal(await second.load(), true, 'an earlier run’s certificate is taken up');
  assert.equal(second.current()?.certPem.trim(), first.current()?.certPem.trim());
  await second.rotate(signal);
  assert.equal(asked.at(-1)?.certPem.trim(), first.current()?.certPem.trim(), 'renewed with the one in hand');
  denied = true;
  await assert.rejects(second.rotate(signal), /certificate request csr-1 is Denied: No/);
  await clock.advance(11 * HOUR_MS);
  assert.equal(await make().load(), false, 'one that has ended is none');
});
