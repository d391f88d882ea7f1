import assert from 'node:assert/strict';
import { createHash, timingSafeEqual, webcrypto, X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { parseTime } from '../../api/time.ts';
import { createMemoryFiles } from '../../platform/sim/files.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { ensureClusterPki, type PkiNames } from './cluster-pki.ts';

const DAY_MS = 86_400_000;
const crypto = {
  sha256Hex: (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex'),
  timingSafeEqual,
  webcrypto: webcrypto as typeof globalThis.crypto,
};

test('certificates are created once, and again when they are old, lost or for other names', async () => {
  let nowMs = parseTime('2026-03-04T05:06:07Z');
  const files = createMemoryFiles({ nowMs: () => nowMs });
  const deps = { crypto, random: createSeededRandom(1), nowMs: () => nowMs };
  const names: PkiNames = { nodeName: 'n1', dnsNames: ['localhost'], ipAddresses: ['10.0.0.1'] };
  const load = (change: Partial<PkiNames> = {}) =>
    ensureClusterPki(files, deps, { dir: '/pki', names: { ...names, ...change } });
  const first = await load();
  assert.deepEqual(await load(), first, 'reused');
  const api = new X509Certificate(first.apiServer.certPem);
  assert.ok(api.verify(new X509Certificate(first.ca.certPem).publicKey));
  assert.equal(api.checkIP('10.0.0.1'), '10.0.0.1');
  assert.match(new X509Certificate(first.admin.certPem).subject, /O=system:masters/);
  assert.match(new X509Certificate(first.kubeletClient.certPem).subject, /^O=keelson:kubelet-clients$/m);
  assert.match(new X509Certificate(first.kubeletServer.certPem).subject, /CN=system:node:n1/);
  for (const key of ['ca.key', 'sa.key', 'admin.key', 'stamp.json'])
    assert.equal((await files.stat(`/pki/${key}`))?.mode & 0o777, 0o600, key);

  const moved = await load({ ipAddresses: ['10.0.0.2'] });
  assert.notEqual(moved.apiServer.certPem, first.apiServer.certPem);
  assert.equal(moved.admin.certPem, first.admin.certPem, 'names of the server only');
  await files.remove('/pki/admin.key');
  assert.notEqual((await load({ ipAddresses: ['10.0.0.2'] })).admin.certPem, first.admin.certPem);
  await files.writeFile('/pki/stamp.json', 'broken');
  await load();
  nowMs += 250 * DAY_MS;
  const later = await load();
  assert.notEqual(later.kubeletClient.certPem, first.kubeletClient.certPem);
  assert.deepEqual([later.ca, later.serviceAccount], [first.ca, first.serviceAccount], 'what others trust stays');
});
