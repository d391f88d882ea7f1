import assert from 'node:assert/strict';
import { createHash, randomBytes, timingSafeEqual, webcrypto, X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { parseTime } from '../../api/time.ts';
import { requestProblem } from '../../api/validation/certificate-request.ts';
import type { Random } from '../../platform/random.ts';
import { createAuthority, issueCertificate, parseRequest, signRequest } from './certificates.ts';

const crypto = {
  sha256Hex: (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex'),
  timingSafeEqual: (a: Uint8Array, b: Uint8Array) => a.length === b.length && timingSafeEqual(a, b),
  webcrypto: webcrypto as typeof globalThis.crypto,
};
const random = { bytes: (n: number) => new Uint8Array(randomBytes(n)) } as unknown as Random;
const nowMs = parseTime('2026-03-04T05:06:07Z');
const deps = { crypto, random, nowMs: () => nowMs };
const DAY_MS = 86_400_000;

test('an authority signs server and client certificates that verify', async () => {
  const ca = await createAuthority(deps, 'keelson-ca', 3650 * DAY_MS);
  const pair = await issueCertificate(deps, ca, {
    commonName: 'system:node:a',
    organizations: ['system:nodes'],
    dnsNames: ['a', 'localhost'],
    ipAddresses: ['127.0.0.1', '::1'],
    usages: ['server', 'client'],
    validityMs: 365 * DAY_MS,
  });
  const cert = new X509Certificate(pair.certPem);
  assert.ok(cert.verify(new X509Certificate(ca.certPem).publicKey));
  assert.match(cert.subject, /O=system:nodes/);
  assert.match(cert.subject, /CN=system:node:a/);
  assert.equal(cert.checkIP('127.0.0.1'), '127.0.0.1');
  assert.equal(cert.checkHost('localhost'), 'localhost');
  assert.ok(cert.validFromDate.getTime() < nowMs, 'backdated');
  assert.equal(cert.ca, false);
});

test('a certificate never outlives its authority', async () => {
  const ca = await createAuthority(deps, 'short', DAY_MS);
  const pair = await issueCertificate(deps, ca, { commonName: 'x', usages: ['client'], validityMs: 9 * DAY_MS });
  assert.equal(new X509Certificate(pair.certPem).validToDate.getTime(), nowMs + DAY_MS);
});

test('a request is parsed, and signed only with the attributes of the signer', async () => {
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  const keys = await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
  const csr = await x509.Pkcs10CertificateRequestGenerator.create({
    name: [{ O: ['system:nodes'] }, { CN: ['system:node:b'] }],
    keys: keys as never,
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    extensions: [
      new x509.SubjectAlternativeNameExtension([
        { type: 'dns', value: 'b' },
        { type: 'ip', value: '10.0.0.1' },
      ]),
    ],
  });
  const pem = csr.toString('pem');
  const parsed = await parseRequest(crypto, pem);
  assert.deepEqual(parsed, {
    commonName: 'system:node:b',
    organizations: ['system:nodes'],
    dnsNames: ['b'],
    ipAddresses: ['10.0.0.1'],
    emailAddresses: [],
    uris: [],
  });
  const ca = await createAuthority(deps, 'ca', 10 * DAY_MS);
  const signed = await signRequest(deps, ca, { pem, spec: { ...parsed, usages: ['client'], validityMs: DAY_MS } });
  assert.match(new X509Certificate(signed).subject, /CN=system:node:b/);
  await assert.rejects(parseRequest(crypto, 'nonsense'));
  const long = '-----BEGIN CERTIFICATE REQUEST-----'.padEnd(300_000, 'A');
  await assert.rejects(parseRequest(crypto, long), /must be no longer than 262144 bytes/);
  assert.match(requestProblem(long) ?? '', /must be no longer/);
});
