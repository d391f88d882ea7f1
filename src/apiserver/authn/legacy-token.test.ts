import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { Secrets, ServiceAccounts } from '../../api/gen/resources.ts';
import type { Secret, ServiceAccount } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../api/time.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createTestObjects } from '../authz/objects-fixture.ts';
import { createServiceAccountTokens } from './service-account-tokens.ts';

const pair = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const account: ServiceAccount = { metadata: { name: 'bot', namespace: 'ns', uid: 'bot-uid' } };
const empty: Secret = { metadata: { name: 's', namespace: 'ns' }, type: 'kubernetes.io/service-account-token' };
const crypto = {
  sha256Hex: (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex'),
  webcrypto: globalThis.crypto,
} as never;

async function fixture(lookup = true) {
  const clock = new VirtualClock();
  const objects = createTestObjects();
  const tokens = createServiceAccountTokens(
    { platform: { clock, random: createSeededRandom(1), crypto }, objects: () => objects.store },
    {
      issuer: 'https://issuer',
      audiences: ['api'],
      keys: [{ privateKeyPem: pair.privateKey, publicKeyPem: pair.publicKey }],
      lookup,
    },
  );
  const token = await tokens.issueLegacy(account, empty);
  const secret: Secret = { ...empty, data: { token: Buffer.from(token).toString('base64') } };
  objects.put(ServiceAccounts, account);
  objects.put(Secrets, secret);
  return { clock, objects, tokens, token, secret };
}

test('the token of a secret speaks for its account without an end, and its use is noted by the day', async () => {
  const { clock, objects, tokens, token } = await fixture();
  await clock.advance(400 * 86_400_000);
  const user = await tokens.authenticateToken(token);
  assert.deepEqual([user?.name, user?.uid], ['system:serviceaccount:ns:bot', 'bot-uid']);
  const noted = objects.store.get(Secrets, 'ns', 's')?.metadata.labels;
  assert.deepEqual(noted, { 'kubernetes.io/legacy-token-last-used': formatTime(clock.nowMs()).slice(0, 10) });
  await assert.rejects(tokens.review(token, ['elsewhere']), /token audiences \[\] is invalid/);
});

const ends: [what: string, change: (f: Awaited<ReturnType<typeof fixture>>) => void, message: RegExp][] = [
  ['its secret is gone', ({ objects }) => objects.remove(Secrets, 'ns', 's'), /is gone/],
  [
    'its secret holds another',
    ({ objects, secret }) => objects.put(Secrets, { ...secret, data: { token: 'eA==' } }),
    /another one/,
  ],
  [
    'it is marked',
    ({ objects, secret }) =>
      objects.put(Secrets, {
        ...secret,
        metadata: { ...secret.metadata, labels: { 'kubernetes.io/legacy-token-invalid-since': '2026-01-01' } },
      }),
    /marked invalid since 2026-01-01/,
  ],
  [
    'its account was made anew',
    ({ objects }) => objects.put(ServiceAccounts, { metadata: { ...account.metadata, uid: 'new' } }),
    /the service account of the token is gone/,
  ],
];
for (const [what, change, message] of ends) {
  test(`it ends when ${what}`, async () => {
    const all = await fixture();
    change(all);
    await assert.rejects(all.tokens.authenticateToken(all.token), message);
  });
}

test('without lookup it counts whatever became of its secret and account', async () => {
  const all = await fixture(false);
  for (const [, change] of ends) change(all);
  assert.equal((await all.tokens.authenticateToken(all.token))?.name, 'system:serviceaccount:ns:bot');
});
