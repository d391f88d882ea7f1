import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthority } from '../../component-helpers/pki/certificates.ts';
import { readCertificate } from '../../component-helpers/pki/read-certificate.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { DNS_CERTIFICATE_MS, writeDnsCredentials } from './dns-credentials.ts';

const KUBECONFIG = '/d/dns.kubeconfig';
const PAIR = '/d/pki/dns-client-current.pem';
const DAY_MS = 86_400_000;

async function setUp() {
  const platform = createSimPlatform();
  const { clock, crypto, files, random } = platform;
  const deps = { crypto, random, nowMs: () => clock.nowMs() };
  const authority = () => clock.drive(createAuthority(deps, 'ca', 3650 * DAY_MS));
  let ca = await authority();
  await files.makeDir('/d');
  return {
    ...platform,
    renewAuthority: async () => void (ca = await authority()),
    write: () =>
      clock.drive(writeDnsCredentials(platform, KUBECONFIG, { server: 'https://127.0.0.1:1', ca, pkiDir: '/d/pki' })),
    certificate: async () => {
      const facts = readCertificate({ crypto }, await files.readText(PAIR));
      return { user: facts.commonName, lastsMs: facts.notAfterMs - clock.nowMs() };
    },
  };
}

test('DNS has a certificate of a week, of its own user, and keys only in a file that its owner reads', async () => {
  const { files, write, certificate } = await setUp();
  await write();
  const { user, lastsMs } = await certificate();
  assert.deepEqual([user, lastsMs], ['keelson:dns', DNS_CERTIFICATE_MS]);
  assert.equal((await files.stat(PAIR))?.mode & 0o777, 0o600);
  assert.doesNotMatch(await files.readText(KUBECONFIG), /client-key-data/);
  assert.match(await files.readText(KUBECONFIG), /"client-key":"\/d\/pki\/dns-client-current\.pem"/);
});

test('a fresh certificate is kept, one with six days left is replaced', async () => {
  const { clock, files, write } = await setUp();
  await write();
  const first = await files.readText(PAIR);
  await clock.advance(DAY_MS / 2);
  await write();
  assert.equal(await files.readText(PAIR), first);
  await clock.advance(DAY_MS);
  await write();
  assert.notEqual(await files.readText(PAIR), first);
});

test('a kubeconfig with a key inside, another authority and a file cut short are replaced', async () => {
  const { files, write, renewAuthority } = await setUp();
  await files.writeFileAtomic(KUBECONFIG, '{"users":[{"user":{"client-key-data":"c2VjcmV0"}}]}');
  await write();
  assert.doesNotMatch(await files.readText(KUBECONFIG), /client-key-data/);
  for (const change of [renewAuthority, () => files.writeFileAtomic(PAIR, '-----BEGIN')]) {
    const before = await files.readText(PAIR);
    await change();
    await write();
    assert.notEqual(await files.readText(PAIR), before);
  }
});
