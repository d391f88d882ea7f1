/** The certificates and keys that a data plane accepts. */
import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { before, test } from 'node:test';
import 'reflect-metadata';
import { PemConverter, X509CertificateGenerator } from '@peculiar/x509';
import { createTestAuthority, type TestAuthority } from '../../platform/node/certificates-fixture.ts';
import { createInspectCertificate } from './inspect-certificate.ts';

const inspect = createInspectCertificate();
let authority: TestAuthority;
before(async () => {
  authority = await createTestAuthority('test');
});

test('the names of a certificate are returned when the key fits', async () => {
  const { certPem, keyPem } = await authority.issue('CN=x', ['Web.example', '*.web.example']);
  assert.deepEqual(inspect(certPem, keyPem), ['web.example', '*.web.example']);
});

test("another certificate's key and invalid PEM are refused", async () => {
  const [one, two] = [await authority.issue('CN=x', ['a']), await authority.issue('CN=x', ['a'])];
  assert.throws(() => inspect(one.certPem, two.keyPem), /tls\.key is not the key of tls\.crt/);
  assert.throws(() => inspect(one.certPem, 'x'), /tls\.crt or tls\.key cannot be read/);
  assert.throws(() => inspect('x', one.keyPem), /tls\.crt or tls\.key cannot be read/);
});

test('a key that OpenSSL considers too small is refused', async () => {
  const algorithm = {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    modulusLength: 1024,
    publicExponent: Buffer.from([1, 0, 1]),
  };
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const made = await X509CertificateGenerator.createSelfSigned({ name: 'CN=x', keys, signingAlgorithm: algorithm });
  const key = PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  assert.throws(
    () => inspect(made.toString('pem'), key),
    /^Error: tls\.crt and tls\.key cannot be served: .*too small/,
  );
});

test('a key that makes each handshake slow is refused', async () => {
  const { certPem } = await authority.issue('CN=x', ['a']);
  // A valid key of this size would take seconds to generate; its primes are not checked.
  const number = (bits: number): string => Buffer.alloc(bits / 8, 0xff).toString('base64url');
  const half = Object.fromEntries(['p', 'q', 'dp', 'dq', 'qi'].map((name) => [name, number(2056)]));
  const key = createPrivateKey({
    format: 'jwk',
    key: { kty: 'RSA', e: 'AQAB', n: number(4104), d: number(4104), ...half },
  });
  const keyPem = key.export({ type: 'pkcs8', format: 'pem' }) as string;
  assert.throws(() => inspect(certPem, keyPem), { message: 'tls.key has 4104 bits, more than 4096' });
});
