import assert from 'node:assert/strict';
import { webcrypto, X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { formatTime, parseTime } from '../../api/time.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import { distinguishedName, readAuthority, writeAuthority, writeLeaf } from './certificate-writer.ts';
import { derTime, objectIdentifier, readElements, timeText, unsignedInteger } from './der.ts';

const crypto = { webcrypto: webcrypto as typeof globalThis.crypto } as CryptoPort;
const serial = Uint8Array.of(0x40, 0xff, 0x00, 0x01);
const [notBeforeMs, notAfterMs] = [parseTime('2026-03-04T05:06:07Z'), parseTime('2051-01-02T03:04:05Z')];

async function keyPair(): Promise<{ publicKey: Uint8Array; signingKey: never }> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' } as const;
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const publicKey = new Uint8Array(await webcrypto.subtle.exportKey('spki', keys.publicKey));
  return { publicKey, signingKey: keys.privateKey as never };
}

test('what is written is what OpenSSL and the library read', async () => {
  const own = await keyPair();
  const times = { serial, notBeforeMs, notAfterMs };
  const subject = distinguishedName('Käpt’n', ['a+b, c', 'o:2']);
  const caPem = await writeAuthority(crypto, { ...times, subject, ...own });
  const ca = new X509Certificate(caPem);
  assert.ok(ca.ca && ca.verify(ca.publicKey) && ca.checkIssued(ca));
  assert.equal(ca.serialNumber, '40FF0001');
  assert.equal(ca.validToDate.getTime(), notAfterMs);
  const authority = await readAuthority(crypto, caPem);
  assert.equal(authority.notAfterMs, notAfterMs);
  const leafPem = await writeLeaf(crypto, {
    ...times,
    subject: distinguishedName('kubelet', []),
    authority,
    publicKey: (await keyPair()).publicKey,
    signingKey: own.signingKey,
    usages: ['server', 'client'],
    dnsNames: ['localhost', '*.example.org'],
    ipAddresses: ['10.0.0.1', 'fd00::1'],
  });
  const leaf = new X509Certificate(leafPem);
  assert.ok(leaf.checkIssued(ca) && leaf.verify(ca.publicKey) && !leaf.ca);
  assert.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
  assert.equal(
    leaf.subjectAltName,
    'DNS:localhost, DNS:*.example.org, IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1',
  );
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  const read = new x509.X509Certificate(leafPem);
  assert.equal(read.issuer, new x509.X509Certificate(caPem).subject);
  assert.deepEqual(new x509.X509Certificate(caPem).subjectName.getField('O'), ['a+b, c', 'o:2']);
  const usage = read.getExtension(x509.KeyUsagesExtension);
  assert.equal(usage?.usages, x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyEncipherment);
  const told = read.getExtension(x509.AuthorityKeyIdentifierExtension)?.keyId;
  const its = new x509.X509Certificate(caPem).getExtension(x509.SubjectKeyIdentifierExtension)?.keyId;
  assert.equal(told, its);
});

test('an authority without a key identifier of its own gets the one of its key', async () => {
  const own = await keyPair();
  const subject = distinguishedName('ca', []);
  const times = { serial, notBeforeMs, notAfterMs };
  const withIt = await readAuthority(crypto, await writeAuthority(crypto, { ...times, subject, ...own }));
  const leaf = { ...times, subject, authority: withIt, ...own, usages: [], dnsNames: [], ipAddresses: [] };
  const without = await readAuthority(crypto, await writeLeaf(crypto, leaf));
  assert.deepEqual(Buffer.from(without.keyIdentifier), Buffer.from(withIt.keyIdentifier));
  await assert.rejects(writeLeaf(crypto, { ...leaf, ipAddresses: ['nonsense'] }), /nonsense is no address/);
  await assert.rejects(readAuthority(crypto, 'nonsense'), /no PEM block/);
});

test('DER elements', () => {
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
  assert.equal(hex(unsignedInteger(Uint8Array.of(0, 0))), '020100');
  assert.equal(hex(unsignedInteger(Uint8Array.of(0, 0x80))), '02020080');
  assert.equal(hex(objectIdentifier('1.2.840.10045.4.3.2')), '06082a8648ce3d040302');
  for (const text of ['2049-12-31T23:59:59Z', '2050-01-01T00:00:00Z']) {
    const [read] = readElements(derTime(parseTime(text), formatTime));
    assert.ok(read);
    assert.equal(timeText(read), text);
  }
  for (const bad of [
    [0x30, 5, 0],
    [0x30, 0x80],
    [0x30, 0x85, 1, 1, 1, 1, 1],
  ])
    assert.throws(() => readElements(Uint8Array.from(bad)), /certificate/);
});
