import assert from 'node:assert/strict';
import { createHash, randomBytes, timingSafeEqual, webcrypto, X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { parseTime } from '../../api/time.ts';
import type { Random } from '../../platform/random.ts';
import { createAuthority, issueCertificate } from './certificates.ts';
import { readCertificate } from './read-certificate.ts';

const crypto = {
  sha256Hex: (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex'),
  timingSafeEqual: (a: Uint8Array, b: Uint8Array) => a.length === b.length && timingSafeEqual(a, b),
  webcrypto: webcrypto as typeof globalThis.crypto,
};
const random = { bytes: (n: number) => new Uint8Array(randomBytes(n)) } as unknown as Random;
const deps = { crypto, random, nowMs: () => parseTime('2026-03-04T05:06:07Z') };
const DAY_MS = 86_400_000;

/** What Node.js reads of the same certificate. */
function readByNode(pem: string): object {
  const cert = new X509Certificate(pem);
  return {
    notBeforeMs: cert.validFromDate.getTime(),
    notAfterMs: cert.validToDate.getTime(),
    commonName: /^CN=(.*)$/m.exec(cert.subject)?.[1] ?? '',
    publicKeyHash: crypto.sha256Hex(cert.publicKey.export({ type: 'spki', format: 'der' })),
  };
}

test('what Node.js reads of a certificate is read, and its addresses', async () => {
  const ca = await createAuthority(deps, 'keelson-ca', 3650 * DAY_MS);
  const pair = await issueCertificate(deps, ca, {
    commonName: 'système:nœud',
    organizations: ['system:nodes'],
    dnsNames: ['a', 'localhost'],
    ipAddresses: ['127.0.0.1', '::1', '2001:db8::a:0:1'],
    usages: ['server'],
    validityMs: 365 * DAY_MS,
  });
  const { ipAddresses, ...facts } = readCertificate(deps, pair.certPem);
  assert.deepEqual(ipAddresses, ['127.0.0.1', '::1', '2001:db8::a:0:1']);
  assert.deepEqual(facts, readByNode(pair.certPem));
  const { ipAddresses: none, ...ofCa } = readCertificate(deps, `# ours\r\n${ca.certPem.replaceAll('\n', '\r\n')}`);
  assert.deepEqual([none, ofCa], [[], readByNode(ca.certPem)]);
});

/** `openssl req -x509 -newkey rsa:1024 -days 36500`, subject `/O=x`: an RSA key, a year beyond 2049, no common name. */
const OTHER = `-----BEGIN CERTIFICATE-----
MIIB9jCCAV+gAwIBAgIUbBmqdl6MRMga1Oc4QcDXNrN4LAAwDQYJKoZIhvcNAQEL
BQAwDDEKMAgGA1UECgwBeDAgFw0yNjExMjIwOTE4MzJaGA8yMTI2MTAyOTA5MTgz
MlowDDEKMAgGA1UECgwBeDCBnzANBgkqhkiG9w0BAQEFAAOBjQAwgYkCgYEA1OMv
ylUsTsiXsa/FtNFyQ4QNaqMIoxpPd072UtAN7PukhZ81NGJZS8YZoY1Q1uKblzKB
6rKTp+eMFkKe9mhh1ENvBD9Zf37htJ0HL8yPNSwoRGX2iBT8boTqiBm6ymhBtKcF
FeS8v7ijAclupyBBRhVt7Hqdotp3C3mUNJ/B0gMCAwEAAaNTMFEwHQYDVR0OBBYE
FBCyffqrh6i6KaVAlgLtONh5yQc0MB8GA1UdIwQYMBaAFBCyffqrh6i6KaVAlgLt
ONh5yQc0MA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZIhvcNAQELBQADgYEAkZwPuklu
7CGxlqHrRw2QbFEdwwAv6PxU9mCzHi5tCMymjmdwQDo2v7SxgeG8ulRq5LqHOYMD
xaTuVtFb0i3Sfrdw55ijywi2A83i5ws+TO45hNo/IL2SvA448tU5/O2hmUXdc3+1
cgxhRI8UJ8pS2N1MtTriopsg2bqBF+swq7s=
-----END CERTIFICATE-----
`;

test('so is one of another key, without a common name, that ends after 2049', () => {
  const { ipAddresses, ...facts } = readCertificate(deps, OTHER);
  assert.deepEqual([ipAddresses, facts], [[], readByNode(OTHER)]);
  assert.equal(facts.commonName, '');
});

test('what is no certificate, or a part of one, is refused', async () => {
  const pem = (bytes: Uint8Array): string =>
    `-----BEGIN CERTIFICATE-----\n${Buffer.from(bytes).toString('base64')}\n-----END CERTIFICATE-----\n`;
  const der = new X509Certificate((await createAuthority(deps, 'ca', DAY_MS)).certPem).raw;
  assert.equal(readCertificate(deps, pem(der)).commonName, 'ca');
  for (let length = 1; length < der.length; length++)
    assert.throws(() => readCertificate(deps, pem(der.subarray(0, length))), /malformed/, `${length} bytes`);
  assert.throws(() => readCertificate(deps, pem(Buffer.concat([der, der]))), /trailing data/);
  assert.throws(() => readCertificate(deps, pem(Buffer.from([0x30, 0x80, 0, 0]))), /malformed DER: no length/);
  assert.throws(() => readCertificate(deps, 'nonsense'), /does not contain/);
});
