import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyPairKeyObjectResult } from 'node:crypto';
import { test } from 'node:test';
import { SignJWT, exportJWK } from 'jose';
import { defined } from '../../base/defined-fixture.ts';
import type { HttpAnswer, HttpCall } from '../../platform/net.ts';
import type { ByteSink } from '../../platform/streams.ts';
import { createOidcAuthenticator, type OidcConfig } from './oidc.ts';
import { world } from './outside-world-fixture.ts';

const ISSUER_URL = 'https://10.0.0.9';
const oidcConfig: OidcConfig = {
  issuerUrl: ISSUER_URL,
  clientId: 'keelson',
  usernameClaim: 'sub',
  usernamePrefix: 'oidc:',
  groupsClaim: 'groups',
  groupsPrefix: 'oidc:',
  requiredClaims: { tenant: 't' },
  signingAlgorithms: ['RS256'],
};
const pair = (): KeyPairKeyObjectResult => generateKeyPairSync('rsa', { modulusLength: 2048 });
const [keyA, keyB] = [pair(), pair()];

async function issuer() {
  const all = await world();
  const published: object[] = [];
  const publish = async (key: ReturnType<typeof pair>, kid: string): Promise<void> =>
    void published.push({ ...(await exportJWK(key.publicKey)), kid, alg: 'RS256', use: 'sig' });
  all.answers.set('/.well-known/openid-configuration', () => ({ issuer: ISSUER_URL, jwks_uri: `${ISSUER_URL}/keys` }));
  all.answers.set('/keys', () => ({ keys: published }));
  const sign = (claims: Record<string, unknown>, { key = keyA, kid = 'a', seconds = 600 } = {}): Promise<string> =>
    new SignJWT({ iss: ISSUER_URL, aud: 'keelson', sub: 'ann', tenant: 't', ...claims })
      .setProtectedHeader({ alg: 'RS256', kid })
      .setExpirationTime(Math.floor(all.clock.nowMs() / 1000) + seconds)
      .sign(key.privateKey);
  await publish(keyA, 'a');
  return { ...all, publish, sign };
}

test('OpenID Connect: names and groups with their prefixes; other issuers are not ours', async () => {
  const { sign, ...deps } = await issuer();
  const oidc = createOidcAuthenticator(deps, oidcConfig);
  assert.deepEqual(defined(await oidc.authenticateToken(await sign({ groups: ['a', 'b'] }))), {
    name: 'oidc:ann',
    groups: ['oidc:a', 'oidc:b', 'system:authenticated'],
  });
  assert.deepEqual((await oidc.authenticateToken(await sign({ groups: 'one' })))?.groups, [
    'oidc:one',
    'system:authenticated',
  ]);
  assert.equal(await oidc.authenticateToken(await sign({ iss: 'https://other' })), undefined);
  assert.equal(await oidc.authenticateToken('no.token'), undefined);
  const several = createOidcAuthenticator(deps, { ...oidcConfig, clientId: ['other', 'keelson'] });
  assert.equal((await several.authenticateToken(await sign({})))?.name, 'oidc:ann');
  await assert.rejects(
    async () => several.authenticateToken(await sign({ aud: 'third' })),
    /unexpected "aud" claim value/,
  );
  assert.equal(deps.asked.filter((path) => path === '/keys').length, 2, 'once per authenticator');
});

test('OpenID Connect: groups kept elsewhere are fetched from there, and hold as the token does', async (t) => {
  const { sign, ...deps } = await issuer();
  const oidc = createOidcAuthenticator(deps, oidcConfig);
  const pointing = (source: object, more: object = {}): Promise<string> =>
    sign({ _claim_names: { groups: 'src', mail: 'src' }, _claim_sources: { src: source }, ...more });
  const endpoint = 'https://10.0.0.9/groups';
  const answer = async (claims: Record<string, unknown>, how = {}): Promise<void> => {
    const text = await sign(claims, how);
    deps.answers.set('/groups', () => text);
  };
  await answer({ groups: ['far', 'away'] });
  const far = ['oidc:far', 'oidc:away', 'system:authenticated'];
  const user = await oidc.authenticateToken(await pointing({ endpoint, access_token: 'key' }));
  assert.deepEqual(user?.groups, far);
  assert.equal(deps.bearers.get('/groups'), 'Bearer key');
  await oidc.authenticateToken(await pointing({ endpoint }));
  assert.equal(deps.bearers.get('/groups'), undefined);
  const own = await oidc.authenticateToken(await pointing({ endpoint }, { groups: ['near'] }));
  assert.deepEqual(own?.groups, ['oidc:near', 'system:authenticated']);
  const aggregated = await oidc.authenticateToken(await pointing({ JWT: await sign({ groups: ['in'] }) }));
  assert.deepEqual(aggregated?.groups, ['system:authenticated']);
  const rows: readonly [what: string, claims: Record<string, unknown>, how: object, RegExp][] = [
    ['for another audience', { groups: ['x'], aud: 'other' }, {}, /unexpected "aud" claim value/],
    ['expired', { groups: ['x'] }, { seconds: -60 }, /"exp" claim timestamp check failed/],
    ['with another key', { groups: ['x'] }, { key: keyB }, /signature verification failed/],
    ['of an issuer without TLS', { groups: ['x'], iss: 'http://10.0.0.9' }, {}, /issuer .* is not an https URL/],
    ['without the groups', {}, {}, /could not find distributed claim groups/],
  ];
  for (const [what, claims, how, message] of rows)
    await t.test(what, async () => {
      await answer(claims, how);
      await assert.rejects(oidc.authenticateToken(await pointing({ endpoint })), message);
    });
  await t.test('an unknown source, an unknown path', async () => {
    const nowhere = await sign({ _claim_names: { groups: 'src' }, _claim_sources: {} });
    await assert.rejects(oidc.authenticateToken(nowhere), /contained a source src missing in _claims_sources/);
    const plain = await pointing({ endpoint: 'http://10.0.0.9/groups' });
    await assert.rejects(oidc.authenticateToken(plain), /is not an https URL/);
    deps.answers.delete('/groups');
    await assert.rejects(oidc.authenticateToken(await pointing({ endpoint })), /answers with 404/);
  });
});

test('OpenID Connect: tokens that do not hold', async (t) => {
  const { sign, ...deps } = await issuer();
  const oidc = createOidcAuthenticator(deps, oidcConfig);
  const email = createOidcAuthenticator(deps, { ...oidcConfig, usernameClaim: 'email' });
  type Row = readonly [string, Promise<string>, RegExp, typeof oidc];
  const rows: readonly Row[] = [
    ['another audience', sign({ aud: 'other' }), /"aud"/, oidc],
    ['expired', sign({}, { seconds: -60 }), /"exp"/, oidc],
    ['a signature of another key', sign({}, { key: keyB }), /signature verification failed/, oidc],
    [
      'a required claim of another value',
      sign({ tenant: 'u' }),
      /required claim tenant value does not match. Got = u, want = t/,
      oidc,
    ],
    ['no user', sign({}), /parse username claims "email": claim not present/, email],
    ...[false, 'false', 'true', null, 0, 1].map((verified): Row => [
      `an email that is verified: ${JSON.stringify(verified)}`,
      sign({ email: 'a@b', email_verified: verified }),
      /email not verified/,
      email,
    ]),
  ];
  for (const [what, token, message, by] of rows)
    await t.test(what, async () => assert.rejects(by.authenticateToken(await token), message));
  for (const claims of [{}, { email_verified: true }])
    assert.equal((await email.authenticateToken(await sign({ email: 'a@b', ...claims })))?.name, 'oidc:a@b');
});

test('OpenID Connect: an issuer that breaks off its response is asked again, and its last keys stay valid', async (t) => {
  const { sign, clock, net, answers } = await issuer();
  const cancelled: string[] = [];
  const watched = {
    async http(call: HttpCall): Promise<HttpAnswer> {
      const answer = await net.http(call);
      const cancel = (): void => {
        cancelled.push(new URL(call.url).pathname);
        answer.cancel();
      };
      return { ...answer, cancel };
    },
  };
  const oidc = createOidcAuthenticator({ clock, net: watched }, oidcConfig);
  const stalls = () => async (sink: ByteSink) => {
    await sink.write('{');
    await new Promise<never>(() => undefined);
  };
  const good = answers.get('/keys')!;
  const unknown = (): Promise<string> => sign({}, { key: keyB, kid: 'b' });
  const late = async (token: string): Promise<void> => {
    const asking = assert.rejects(oidc.authenticateToken(token), /context deadline exceeded/);
    await clock.drive(asking);
  };
  await t.test('a body that stalls', async () => {
    answers.set('/keys', stalls);
    await late(await sign({}));
  });
  await t.test('the issuer answers, and stalls when there is a new key', async () => {
    await clock.advance(10_000);
    answers.set('/keys', () => 'x'.repeat(2 << 20));
    await assert.rejects(oidc.authenticateToken(await sign({})), /answers with more than 1048576 bytes/);
    answers.delete('/keys');
    await clock.advance(10_000);
    await assert.rejects(oidc.authenticateToken(await sign({})), /answers with 404/);
    assert.deepEqual(cancelled, ['/keys', '/keys']);
  });
  await t.test('then it answers, and stalls when there is a new key', async () => {
    answers.set('/keys', good);
    await clock.advance(10_000);
    assert.equal((await oidc.authenticateToken(await sign({})))?.name, 'oidc:ann');
    await clock.advance(10_000);
    answers.set('/keys', stalls);
    await late(await unknown());
    assert.equal((await oidc.authenticateToken(await sign({})))?.name, 'oidc:ann');
    assert.equal(clock.pendingTimers, 0);
  });
});

test('OpenID Connect: tokens without end do not ask an issuer more often than each ten seconds', async () => {
  const { sign, clock, asked, answers, ...deps } = await issuer();
  const oidc = createOidcAuthenticator({ ...deps, clock }, oidcConfig);
  const flood = async (token: string): Promise<number> => {
    asked.length = 0;
    for (let second = 0; second < 20; second++) {
      for (let count = 0; count < 5; count++) await oidc.authenticateToken(token).catch(() => undefined);
      await clock.advance(1000);
    }
    return asked.filter((path) => path.startsWith('/.well-known')).length;
  };
  const good = answers.get('/keys')!;
  answers.delete('/keys');
  assert.ok((await flood(await sign({}))) <= 3, 'an issuer that never answered');
  answers.set('/keys', good);
  await clock.advance(10_000);
  assert.equal((await oidc.authenticateToken(await sign({})))?.name, 'oidc:ann');
  assert.ok((await flood(await sign({}, { key: keyB, kid: 'unknown' }))) <= 3, 'unknown keys');
});

test('OpenID Connect: an issuer that delays its new keys delays no token of a known key', async () => {
  const { sign, clock, asked, answers, ...deps } = await issuer();
  const oidc = createOidcAuthenticator({ ...deps, clock }, oidcConfig);
  const known = await sign({});
  await oidc.authenticateToken(known);
  await clock.advance(10_000);
  answers.set('/keys', () => async (sink: ByteSink) => {
    await sink.write('{');
    await new Promise<never>(() => undefined);
  });
  asked.length = 0;
  const unknown = await sign({}, { key: keyB, kid: 'b' });
  const refused = [oidc.authenticateToken(unknown).catch((error: Error) => error.message)];
  await clock.advance(15_000);
  refused.push(oidc.authenticateToken(unknown).catch((error: Error) => error.message));
  await clock.settle();
  assert.equal((await oidc.authenticateToken(known))?.name, 'oidc:ann');
  assert.equal(asked.length, 2, 'the discovery document and the keys, once');
  for (const message of await clock.drive(Promise.all(refused))) assert.match(String(message), /deadline exceeded/);
});

test('OpenID Connect: documents of other types are a refusal, and no key set is kept of them', async () => {
  const wellKnown = '/.well-known/openid-configuration';
  const { sign, clock, answers, ...deps } = await issuer();
  const token = await sign({});
  const [discovery, keys] = [answers.get(wellKnown)!, answers.get('/keys')!];
  const uri =
    (value: unknown): (() => unknown) =>
    () => ({ issuer: ISSUER_URL, jwks_uri: value });
  const wrong: readonly [path: string, answer: () => unknown][] = [
    ...[null, [], 1, 'text', {}, { keys: 1 }, { keys: [null] }, { keys: [{ kty: 5, kid: 'a', alg: 'RS256' }] }].map(
      (value) => ['/keys', () => JSON.stringify(value)] as [string, () => unknown],
    ),
    ['/keys', () => '['.repeat(500_000)],
    ['/keys', () => `{"keys":${'['.repeat(500_000)}${']'.repeat(500_000)}}`],
    [wellKnown, () => 'null'],
    [wellKnown, () => '[]'],
    ...[undefined, null, 5, {}, 'file:///etc/passwd', 'data:application/json,{"keys":[]}', 'keys'].map(
      (value) => [wellKnown, uri(value)] as [string, () => unknown],
    ),
  ];
  for (const [path, answer] of wrong) {
    const oidc = createOidcAuthenticator({ ...deps, clock }, oidcConfig);
    answers.set(path, answer);
    await assert.rejects(oidc.authenticateToken(token), (error: { code?: number; message: string }) => {
      assert.equal(error.code, 401);
      assert.doesNotMatch(error.message, /Cannot read|is not a function|undefined \(/);
      return true;
    });
    answers.set(wellKnown, discovery);
    answers.set('/keys', keys);
    await clock.advance(10_000);
    assert.equal((await oidc.authenticateToken(token))?.name, 'oidc:ann');
  }
});

test('OpenID Connect: a new key of the issuer is fetched when a token needs it, but not too often', async () => {
  const { sign, publish, clock, ...deps } = await issuer();
  const oidc = createOidcAuthenticator({ ...deps, clock }, oidcConfig);
  const old = await sign({});
  await oidc.authenticateToken(old);
  await publish(keyB, 'b');
  const renewed = (): Promise<string> => sign({}, { key: keyB, kid: 'b' });
  await assert.rejects(oidc.authenticateToken(await renewed()), /no applicable key/);
  await clock.advance(10_000);
  assert.equal((await oidc.authenticateToken(await renewed()))?.name, 'oidc:ann');
});

test('OpenID Connect: the discovery document may be elsewhere, but names its issuer', async () => {
  const { sign, ...deps } = await issuer();
  const discoveryUrl = `${ISSUER_URL}/inside/discovery`;
  const oidc = createOidcAuthenticator(deps, { ...oidcConfig, discoveryUrl });
  let named = discoveryUrl;
  deps.answers.delete('/.well-known/openid-configuration');
  deps.answers.set('/inside/discovery', () => ({ issuer: named, jwks_uri: `${ISSUER_URL}/keys` }));
  await assert.rejects(oidc.authenticateToken(await sign({})), /issuer did not match the issuer returned by provider/);
  named = ISSUER_URL;
  await deps.clock.advance(10_000);
  assert.equal((await oidc.authenticateToken(await sign({})))?.name, 'oidc:ann');
  assert.equal(await oidc.authenticateToken(await sign({ iss: discoveryUrl })), undefined);
});
