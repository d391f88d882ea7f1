import assert from 'node:assert/strict';
import { createHash, randomBytes, timingSafeEqual, webcrypto, X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { parseTime } from '../../api/time.ts';
import type { Random } from '../../platform/random.ts';
import { createAuthority, issueCertificate } from './certificates.ts';
import { derContent, derElements, TAG } from '../../base/der.ts';
import { readCertificate } from './read-certificate.ts';

const crypto = {
  sha256Hex: (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex'),
  timingSafeEqual: (a: Uint8Array, b: Uint8Array) => a.length === b.length && timingSafeEqual(a, b),
  webcrypto: webcrypto as typeof globalThis.crypto,
};
const random = { bytes: (n: number) => new Uint8Array(randomBytes(n)) } as unknown as Random;
const deps = { crypto, random, nowMs: () => parseTime('2026-03-04T05:06:07Z') };
const DAY_MS = 86_400_000;

/** The fields of a certificate as Node.js parses them. */
function readByNode(pem: string): object {
  const cert = new X509Certificate(pem);
  return {
    notBeforeMs: cert.validFromDate.getTime(),
    notAfterMs: cert.validToDate.getTime(),
    commonName: /^CN=(.*)$/m.exec(cert.subject)?.[1] ?? '',
    publicKeyHash: crypto.sha256Hex(cert.publicKey.export({ type: 'spki', format: 'der' })),
  };
}

test('a certificate has the fields that Node.js reads, and its addresses', async () => {
  const ca = await createAuthority(deps, 'keelson-ca', 3650 * DAY_MS);
  const pair = await issueCertificate(deps, ca, {
    commonName: 'système:nœud',
    organizations: ['system:nodes'],
    dnsNames: ['a', 'localhost'],
    ipAddresses: ['127.0.0.1', '::1', '2001:db8::a:0:1'],
    usages: ['server'],
    validityMs: 365 * DAY_MS,
  });
  const { ipAddresses, dnsNames, ...facts } = readCertificate(deps, pair.certPem);
  assert.deepEqual(ipAddresses, ['127.0.0.1', '::1', '2001:db8::a:0:1']);
  assert.deepEqual(dnsNames, ['a', 'localhost']);
  assert.deepEqual(facts, readByNode(pair.certPem));
  const {
    ipAddresses: none,
    dnsNames: noNames,
    ...ofCa
  } = readCertificate(deps, `# ours\r\n${ca.certPem.replaceAll('\n', '\r\n')}`);
  assert.deepEqual([none, noNames, ofCa], [[], [], readByNode(ca.certPem)]);
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
  const { ipAddresses, dnsNames, ...facts } = readCertificate(deps, OTHER);
  assert.deepEqual([ipAddresses, dnsNames, facts], [[], [], readByNode(OTHER)]);
  assert.equal(facts.commonName, '');
});

/** One element of DER. Its length is written with `padding` bytes more than need be. */
function der(tag: number, content: readonly Uint8Array[], padding = 0): Buffer {
  const { length } = Buffer.concat(content);
  const digits = length < 0x80 && padding === 0 ? [] : [...Buffer.from(length.toString(16).padStart(4, '0'), 'hex')];
  while (digits[0] === 0) digits.shift();
  const long = [...Array.from({ length: padding }, () => 0), ...digits];
  return Buffer.concat([
    Buffer.from([tag, ...(long.length === 0 ? [length] : [0x80 | long.length, ...long])]),
    ...content,
  ]);
}
const text = (value: string): Buffer => der(0x0c, [Buffer.from(value)]);
const oid = (...bytes: number[]): Buffer => der(TAG.oid, [Buffer.from(bytes)]);
const commonNames = (...names: string[]): Buffer =>
  der(
    TAG.sequence,
    names.map((name) => der(TAG.set, [der(TAG.sequence, [oid(0x55, 4, 3), text(name)])])),
  );
const pemOf = (bytes: Uint8Array): string =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(bytes).toString('base64')}\n-----END CERTIFICATE-----\n`;

/** A certificate of {@link OTHER}'s parts, but for these. */
function madeOf(parts: Partial<Record<'inner' | 'issuer' | 'subject' | 'publicKey' | 'outer', Uint8Array>>): string {
  const [whole] = derElements(new X509Certificate(OTHER).raw);
  const [signed, outer, signature] = derContent(whole, TAG.sequence);
  const [version, serial, inner, issuer, validity, subject, publicKey] = derContent(signed, TAG.sequence);
  const as = (part: keyof typeof parts, own: typeof inner): Uint8Array => parts[part] ?? own!.whole;
  const fields = [version!.whole, serial!.whole, as('inner', inner), as('issuer', issuer), validity!.whole];
  const toBeSigned = der(TAG.sequence, [...fields, as('subject', subject), as('publicKey', publicKey)]);
  return pemOf(der(TAG.sequence, [toBeSigned, as('outer', outer), signature!.whole]));
}

test('of several common names the last counts, as upstream', () => {
  assert.equal(readCertificate(deps, madeOf({ subject: commonNames('one', 'two') })).commonName, 'two');
  assert.equal(readCertificate(deps, madeOf({})).commonName, '');
});

test('a length is written as short as can be, as upstream demands', () => {
  const long = der(TAG.set, [der(TAG.sequence, [oid(0x55, 4, 3), text('x'.repeat(200))])]);
  assert.equal(readCertificate(deps, madeOf({ subject: der(TAG.sequence, [long]) })).commonName.length, 200);
  for (const content of [[], [long]]) {
    const pem = madeOf({ subject: der(TAG.sequence, content, 1) });
    assert.throws(() => readCertificate(deps, pem), /malformed DER: a length longer than need be/);
  }
});

const empty = der(TAG.sequence, []);
const algorithm = der(TAG.sequence, [oid(0x2a, 3)]);
for (const [what, parts] of [
  ['an empty algorithm', { inner: empty }],
  ['an algorithm without a name', { inner: der(TAG.sequence, [oid()]) }],
  ['an empty algorithm of its signature', { outer: empty }],
  ['an issuer that is no name', { issuer: text('x') }],
  ['an empty public key', { publicKey: empty }],
  ['a public key without an algorithm', { publicKey: der(TAG.sequence, [empty, der(TAG.bitString, [])]) }],
  ['a public key that is none', { publicKey: der(TAG.sequence, [algorithm, text('x')]) }],
] as const)
  test(`${what} is refused`, () => {
    const pem = madeOf(parts);
    assert.throws(() => new X509Certificate(pem), 'Node.js refuses it, too');
    assert.throws(() => readCertificate(deps, pem), /malformed/);
  });

test('texts that are no certificate, or a part of one, are refused', async () => {
  const whole = new X509Certificate((await createAuthority(deps, 'ca', DAY_MS)).certPem).raw;
  assert.equal(readCertificate(deps, pemOf(whole)).commonName, 'ca');
  for (let length = 1; length < whole.length; length++)
    assert.throws(() => readCertificate(deps, pemOf(whole.subarray(0, length))), /malformed/, `${length} bytes`);
  assert.throws(() => readCertificate(deps, pemOf(Buffer.concat([whole, whole]))), /trailing data/);
  assert.throws(() => readCertificate(deps, pemOf(Buffer.from([0x30, 0x80, 0, 0]))), /malformed DER: no length/);
  assert.throws(() => readCertificate(deps, 'nonsense'), /does not contain/);
});
