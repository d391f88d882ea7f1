import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, type KeyPairKeyObjectResult } from 'node:crypto';
import { test } from 'node:test';
import type { Pod, ServiceAccount } from '../../api/gen/core-v1.ts';
import { Pods, ServiceAccounts } from '../../api/gen/resources.ts';
import { formatTime } from '../../api/time.ts';
import type { ApiRequest, Principal } from '../../api/transport.ts';
import { defined } from '../../base/defined-fixture.ts';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createTestObjects } from '../authz/objects-fixture.ts';
import { createBearerTokenAuthenticator } from './bearer-token.ts';
import { clientCertificateAuthenticator } from './client-certificate.ts';
import { decodeJwt } from './jwt.ts';
import { createServiceAccountTokens } from './service-account-tokens.ts';
import type { TokenKey } from './token-keys.ts';

const key = (): TokenKey & { privateKeyPem: string } => {
  const pair = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return { privateKeyPem: pair.privateKey, publicKeyPem: pair.publicKey };
};
const pem = ({ privateKey, publicKey }: KeyPairKeyObjectResult): TokenKey => ({
  privateKeyPem: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  publicKeyPem: String(publicKey.export({ type: 'spki', format: 'pem' })),
});
const [first, second] = [key(), key()];
const account: ServiceAccount = { metadata: { name: 'bot', namespace: 'ns', uid: 'bot-uid' } };
const pod: Pod = { metadata: { name: 'p', namespace: 'ns', uid: 'pod-uid' } };
const crypto = {
  sha256Hex: (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex'),
  webcrypto: globalThis.crypto,
} as never;

function fixture(keys: TokenKey[] = [first]) {
  const clock = new VirtualClock();
  const objects = createTestObjects();
  objects.put(ServiceAccounts, account);
  objects.put(Pods, pod);
  const make = (own: TokenKey[], issuer = 'https://issuer') =>
    createServiceAccountTokens(
      { platform: { clock, random: createSeededRandom(1), crypto }, objects: () => objects.store },
      { issuer, audiences: ['api', 'other'], keys: own },
    );
  const order = { namespace: 'ns', account, expirationSeconds: 600 };
  const bound = { kind: 'Pod', name: 'p', uid: 'pod-uid', node: { name: 'n1', uid: 'n1-uid' } };
  return { clock, objects, make, tokens: make(keys), order, bound };
}

test('a token speaks for its account until it expires', async () => {
  const { clock, tokens, order } = fixture();
  const { token, expiresAtMs } = await tokens.issue(order);
  assert.equal(expiresAtMs, Math.floor(clock.nowMs() / 1000) * 1000 + 600_000);
  const user = await tokens.authenticateToken(token);
  assert.equal(user?.name, 'system:serviceaccount:ns:bot');
  assert.equal(user?.uid, 'bot-uid');
  assert.deepEqual(user?.groups, ['system:serviceaccounts', 'system:serviceaccounts:ns', 'system:authenticated']);
  assert.match(user?.extra?.['authentication.kubernetes.io/credential-id']?.[0] ?? '', /^JTI=[0-9a-f-]{36}$/);
  await clock.advance(661_000);
  await assert.rejects(tokens.authenticateToken(token), { message: 'service account token has expired' });
});

test('a token is accepted only for its audiences', async () => {
  const { tokens, order } = fixture();
  const { token } = await tokens.issue({ ...order, audiences: ['vault', 'other'] });
  assert.deepEqual((await tokens.review(token, ['vault', 'x']))?.audiences, ['vault']);
  await assert.rejects(tokens.review(token, ['api']), {
    message: 'token audiences ["vault" "other"] is invalid for the target audiences ["api"]',
  });
  assert.deepEqual((await tokens.review((await tokens.issue(order)).token, ['api', 'x']))?.audiences, ['api']);
  assert.deepEqual((await tokens.issue(order)).audiences, tokens.audiences, 'none asked for: all of the server');
});

test('foreign tokens are left to other authenticators, forged ones are refused', async () => {
  const { make, tokens, order } = fixture();
  assert.equal(await tokens.authenticateToken('opaque'), undefined);
  assert.equal(
    await tokens.authenticateToken((await make([first], 'https://elsewhere').issue(order)).token),
    undefined,
  );
  await assert.rejects(tokens.authenticateToken((await make([second]).issue(order)).token), {
    message: 'invalid bearer token',
  });
  const [head, , signature] = (await tokens.issue(order)).token.split('.');
  const claims = Buffer.from(JSON.stringify({ iss: 'https://issuer', aud: 'api', exp: 99_999_999_999 })).toString(
    'base64url',
  );
  await assert.rejects(tokens.authenticateToken(`${head}.${claims}.${signature}`), { message: 'invalid bearer token' });
});

test('keys rotate: the first signs, all verify', async () => {
  const { make, order } = fixture();
  const before = await make([first]).issue(order);
  const rotated = make([second, { publicKeyPem: first.publicKeyPem }]);
  assert.equal((await rotated.authenticateToken(before.token))?.name, 'system:serviceaccount:ns:bot');
  const after = await rotated.issue(order);
  assert.equal((await make([second]).authenticateToken(after.token))?.name, 'system:serviceaccount:ns:bot');
  const { keys } = await rotated.keySet();
  assert.equal(keys.length, 2);
  for (const jwk of keys) assert.ok(!('d' in jwk), 'never a private key');
  await assert.rejects(make([{ publicKeyPem: first.publicKeyPem }]).issue(order), /no private key/);
});

test('keys of every kind sign, and no token of one passes for another', async () => {
  const { make, order } = fixture();
  const pairs: [TokenKey['algorithm'], TokenKey][] = [
    ['RS256', { ...pem(generateKeyPairSync('rsa', { modulusLength: 2048 })), algorithm: 'RS256' }],
    ['ES384', { ...pem(generateKeyPairSync('ec', { namedCurve: 'P-384' })), algorithm: 'ES384' }],
  ];
  for (const [algorithm, own] of pairs) {
    const { token } = await make([own]).issue(order);
    const head = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { alg: string };
    assert.equal(head.alg, algorithm);
    assert.equal((await make([first, own]).authenticateToken(token))?.name, 'system:serviceaccount:ns:bot');
    await assert.rejects(make([first]).authenticateToken(token), { message: 'invalid bearer token' });
  }
});

test('tokens of pods are valid longer than their reported expiry, up to the maximum', async () => {
  const { order, bound, objects, clock } = fixture();
  const make = (more: object) =>
    createServiceAccountTokens(
      { platform: { clock, random: createSeededRandom(1), crypto }, objects: () => objects.store },
      { issuer: 'https://issuer', audiences: ['api'], keys: [first], ...more },
    );
  const nowSeconds = Math.floor(clock.nowMs() / 1000);
  const own = { ...order, expirationSeconds: 3607, bound };
  const rows: readonly (readonly [object, typeof own, number, number])[] = [
    [{}, own, 3607, 31_536_000],
    [{ maxExpirationSeconds: 7200 }, own, 3607, 7200],
    [{ extendsExpiration: false }, own, 3607, 3607],
    [{}, { ...own, expirationSeconds: 3600 }, 3600, 3600],
    [{}, { ...own, audiences: ['vault'] } as typeof own, 3607, 3607],
    [{ maxExpirationSeconds: 3600 }, { ...own, expirationSeconds: 9000 }, 3600, 3600],
  ];
  for (const [config, input, told, real] of rows) {
    const { token, expiresAtMs } = await make(config).issue(input);
    const { claims } = decodeJwt(token)!;
    assert.deepEqual([expiresAtMs / 1000 - nowSeconds, claims.exp! - nowSeconds], [told, real]);
    const { warnafter } = claims['kubernetes.io'] as { warnafter?: number };
    assert.equal(warnafter, real === told ? undefined : nowSeconds + told);
  }
});

test('without lookup a token that is not kept in a secret still ends with its account', async () => {
  const { tokens, order, objects, clock } = fixture();
  const { token } = await tokens.issue(order);
  const config = { issuer: 'https://issuer', audiences: ['api'], keys: [first], lookup: false };
  const careless = createServiceAccountTokens(
    { platform: { clock, random: createSeededRandom(1), crypto }, objects: () => objects.store },
    config,
  );
  assert.equal((await careless.authenticateToken(token))?.name, 'system:serviceaccount:ns:bot');
  objects.remove(ServiceAccounts, 'ns', 'bot');
  await assert.rejects(careless.authenticateToken(token), /gone/);
});

test('a bound token carries and dies with its pod', async (t) => {
  const { tokens, order, bound } = fixture();
  const { token } = await tokens.issue({ ...order, bound });
  const user = await tokens.authenticateToken(token);
  assert.deepEqual(user?.extra?.['authentication.kubernetes.io/pod-name'], ['p']);
  assert.deepEqual(user?.extra?.['authentication.kubernetes.io/node-name'], ['n1']);
  const deaths: readonly [
    string,
    (objects: ReturnType<typeof createTestObjects>, nowMs: number) => void,
    RegExp | undefined,
  ][] = [
    ['gone', (o) => o.remove(Pods, 'ns', 'p'), /pod the token is bound to is gone/],
    ['made anew', (o) => o.put(Pods, { metadata: { ...pod.metadata, uid: 'new' } }), /is gone/],
    [
      'the account made anew',
      (o) => o.put(ServiceAccounts, { metadata: { ...account.metadata, uid: 'new' } }),
      /serviceaccount the token is bound to is gone/,
    ],
    [
      'deleted long ago',
      (o, now) => o.put(Pods, { metadata: { ...pod.metadata, deletionTimestamp: formatTime(now - 61_000) } }),
      /has been deleted/,
    ],
    [
      'in its grace time',
      (o, now) => o.put(Pods, { metadata: { ...pod.metadata, deletionTimestamp: formatTime(now + 30_000) } }),
      undefined,
    ],
    [
      'known to the store alone',
      (o) => {
        o.remove(Pods, 'ns', 'p');
        o.putFresh(Pods, pod);
      },
      undefined,
    ],
  ];
  for (const [name, kill, problem] of deaths)
    await t.test(name, async () => {
      const one = fixture();
      const issued = await one.tokens.issue({ ...one.order, bound: one.bound });
      kill(one.objects, one.clock.nowMs());
      if (problem === undefined) assert.ok(await one.tokens.authenticateToken(issued.token));
      else await assert.rejects(one.tokens.authenticateToken(issued.token), problem);
    });
});

test('bearer tokens are cached, and the first authenticator that accepts one decides', async () => {
  const clock = new VirtualClock();
  let asked = 0;
  const kind = {
    authenticateToken: async (token: string) => {
      asked++;
      if (token.startsWith('bad')) throw new Error('bad');
      return token === 'good' ? { name: 'ann', groups: [] } : undefined;
    },
  };
  const last = {
    authenticateToken: async (token: string) => (token === 'bad-but-known' ? { name: 'bob', groups: [] } : undefined),
  };
  const log = createMemoryLog();
  const authenticator = createBearerTokenAuthenticator([kind, last], { clock, log });
  const ask = (authorization?: string) =>
    authenticator.authenticate({ headers: { authorization } } as unknown as ApiRequest);
  assert.equal(ask(), undefined);
  assert.equal(ask('Basic abc'), undefined);
  assert.equal((await ask('bearer good'))?.name, 'ann');
  await ask('Bearer good');
  assert.equal(asked, 1, 'remembered');
  await clock.advance(10_001);
  await ask('Bearer good');
  assert.equal(asked, 2, 'not for long');
  await assert.rejects(async () => ask('Bearer nobody'), { message: 'Unauthorized' });
  await assert.rejects(async () => ask('Bearer bad'), { message: 'Unauthorized' });
  assert.deepEqual(
    log.entries.map(({ message, fields }) => [message, fields]),
    [['unable to authenticate the request', { reason: 'bad' }]],
  );
  assert.equal((await ask('Bearer bad-but-known'))?.name, 'bob', 'a kind that refuses it is no word about the others');
});

test('a browser brings its token as a protocol of its WebSocket', async () => {
  const clock = new VirtualClock();
  const kind = {
    authenticateToken: async (token: string) => (token === 'good' ? { name: 'ann', groups: [] } : undefined),
  };
  const authenticator = createBearerTokenAuthenticator([kind], { clock, log: createMemoryLog() });
  const ask = async (protocols: string, wantsUpgrade = true) =>
    authenticator.authenticate({
      headers: { 'sec-websocket-protocol': protocols },
      wantsUpgrade,
    } as unknown as ApiRequest);
  const own = `base64url.bearer.authorization.k8s.io.${Buffer.from('good').toString('base64url')}`;
  assert.equal((await ask(`v5.channel.k8s.io, ${own}`))?.name, 'ann');
  assert.equal(await ask(own), undefined, 'another protocol is needed to speak');
  assert.equal(await ask(`v5.channel.k8s.io, ${own}`, false), undefined, 'no WebSocket');
  assert.equal(await ask('v5.channel.k8s.io'), undefined);
  await assert.rejects(ask(`v5.channel.k8s.io, ${own}x`), { message: 'Unauthorized' });
});

test('a certificate names user and groups', () => {
  const peerCertificate = { commonName: 'ann', organizations: ['dev', 'system:authenticated'], fingerprint256: 'f' };
  const principal = clientCertificateAuthenticator.authenticate({ peerCertificate } as unknown as ApiRequest);
  assert.deepEqual(defined(principal), {
    name: 'ann',
    groups: ['dev', 'system:authenticated'],
    extra: { 'authentication.kubernetes.io/credential-id': ['X509SHA256=f'] },
  });
  assert.equal(clientCertificateAuthenticator.authenticate({} as ApiRequest), undefined);
});

test('a certificate names the uid at most once', () => {
  const ask = (uids: readonly string[]): Principal | undefined => {
    const peerCertificate = { commonName: 'ann', organizations: [], uids, fingerprint256: 'f' };
    return clientCertificateAuthenticator.authenticate({ peerCertificate } as unknown as ApiRequest) as Principal;
  };
  assert.equal(ask(['u-1'])?.uid, 'u-1');
  assert.equal(ask([])?.uid, undefined);
  for (const uids of [['u-1', 'u-2'], ['']]) assert.throws(() => ask(uids), { code: 401 });
});
