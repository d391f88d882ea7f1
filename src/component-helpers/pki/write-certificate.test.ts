import assert from 'node:assert/strict';
import { createHash, randomBytes, timingSafeEqual, webcrypto, X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { dateOf, parseTime } from '../../api/time.ts';
import type { Random } from '../../platform/random.ts';
import { createAuthority, createRequest, issueCertificate, parseRequest } from './certificates.ts';

const crypto = {
  sha256Hex: (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex'),
  timingSafeEqual: (a: Uint8Array, b: Uint8Array) => a.length === b.length && timingSafeEqual(a, b),
  webcrypto: webcrypto as typeof globalThis.crypto,
};
const random = { bytes: (n: number) => new Uint8Array(randomBytes(n)) } as unknown as Random;
const nowMs = parseTime('2026-03-04T05:06:07Z');
const deps = { crypto, random, nowMs: () => nowMs };
const DAY_MS = 86_400_000;

/** Another reader than ours. */
async function library(): Promise<typeof import('@peculiar/x509')> {
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto as never);
  return x509;
}

test('an authority and a certificate it signed, as other libraries read them', async () => {
  const x509 = await library();
  const ca = await createAuthority(deps, 'kubernetes', 36_500 * DAY_MS);
  const pair = await issueCertificate(deps, ca, {
    commonName: 'nœud & co',
    organizations: ['system:masters', 'b'],
    dnsNames: Array.from({ length: 40 }, (_, index) => `name-${index}.example`),
    ipAddresses: ['10.0.0.1', '2001:db8::1', '::'],
    usages: ['server', 'client'],
    validityMs: 365 * DAY_MS,
  });
  const [signer, leaf] = [new x509.X509Certificate(ca.certPem), new x509.X509Certificate(pair.certPem)];
  assert.ok(await signer.isSelfSigned());
  assert.ok(await leaf.verify({ publicKey: signer.publicKey, date: dateOf(nowMs) }));
  assert.ok(new X509Certificate(pair.certPem).checkIssued(new X509Certificate(ca.certPem)));
  const { keyCertSign, digitalSignature, keyEncipherment } = x509.KeyUsageFlags;
  const read = (certificate: typeof signer) => ({
    subject: certificate.subject,
    from: certificate.notBefore.toISOString(),
    until: certificate.notAfter.toISOString(),
    ca: certificate.getExtension(x509.BasicConstraintsExtension)?.ca,
    usages: certificate.getExtension(x509.KeyUsagesExtension)?.usages,
    extended: [...(certificate.getExtension(x509.ExtendedKeyUsageExtension)?.usages ?? [])],
    critical: [...certificate.extensions].filter(({ critical }) => critical).map(({ type }) => type),
  });
  const from = '2026-03-04T05:01:07.000Z';
  const critical = ['2.5.29.19', '2.5.29.15'];
  assert.deepEqual(read(signer), {
    ...{ subject: 'CN=kubernetes', from, until: '2126-02-08T05:06:07.000Z', ca: true, critical },
    ...{ usages: keyCertSign | digitalSignature | keyEncipherment, extended: [] },
  });
  assert.deepEqual(read(leaf), {
    ...{ subject: 'O=system:masters, O=b, CN=nœud & co', from, until: '2027-03-04T05:06:07.000Z', ca: false, critical },
    ...{ usages: digitalSignature | keyEncipherment, extended: ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'] },
  });
  const ofSigner = signer.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId;
  assert.match(ofSigner ?? '', /^[0-9a-f]{40}$/);
  assert.equal(leaf.getExtension(x509.AuthorityKeyIdentifierExtension)?.keyId, ofSigner);
  const names = leaf.getExtension(x509.SubjectAlternativeNameExtension)?.names.items ?? [];
  assert.equal(names.filter(({ type }) => type === 'dns').at(-1)?.value, 'name-39.example');
  for (const address of ['10.0.0.1', '2001:db8::1', '::'])
    assert.equal(new X509Certificate(pair.certPem).checkIP(address), address);
  assert.equal(names.length, 43);
});

test('a request contains the requested attributes, and is signed', async () => {
  const asked = { commonName: 'system:node:a', organizations: ['system:nodes'] };
  for (const [dnsNames, ipAddresses] of [[[], []] as const, [['a'], ['10.0.0.1']] as const]) {
    const { requestPem } = await createRequest(deps, { ...asked, dnsNames, ipAddresses });
    const none = { emailAddresses: [], uris: [] };
    assert.deepEqual(await parseRequest(crypto, requestPem), { ...asked, dnsNames, ipAddresses, ...none });
  }
});

test('a name that cannot be written is refused', async () => {
  await assert.rejects(
    createRequest(deps, { commonName: 'x', dnsNames: ['nœud'] }),
    /cannot be encoded as an IA5String/,
  );
  await assert.rejects(createRequest(deps, { commonName: 'x', ipAddresses: ['10.0.0'] }), /no address/);
});

test('an authority without a name for its key signs, too', async () => {
  const x509 = await library();
  const keys = await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
  const own = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'O=of the user,CN=own',
    notBefore: dateOf(nowMs - DAY_MS),
    notAfter: dateOf(nowMs + DAY_MS),
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    keys: keys as never,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  const keyPem = x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  const ca = { certPem: own.toString('pem'), keyPem };
  const pair = await issueCertificate(deps, ca, { commonName: 'x', usages: ['client'], validityMs: 9 * DAY_MS });
  const leaf = new X509Certificate(pair.certPem);
  assert.ok(
    leaf.verify(new X509Certificate(ca.certPem).publicKey) && leaf.checkIssued(new X509Certificate(ca.certPem)),
  );
  assert.match(leaf.issuer, /O=of the user\nCN=own/);
});
