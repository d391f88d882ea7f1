/**
 * OpenID Connect with an issuer over real TLS: invalid tokens are refused whatever their fault, rotated keys are found, and an
 * issuer with arbitrary answers affects only its own tokens, within the timeout.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createHmac, generateKeyPairSync } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { exportJWK, type JWK, SignJWT } from 'jose';
import { createTestAuthority } from '../../platform/node/certificates-fixture.ts';
import { createNodeNet } from '../../platform/node/net.ts';
import { settleWhileTimePasses } from '../../platform/node/settle-fixture.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import type { TokenAuthenticator } from './bearer-token.ts';
import { createOidcAuthenticator, type OidcConfig } from './oidc.ts';

const rsa = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
const [first, second, stranger] = [rsa(), rsa(), rsa()];
const net = createNodeNet();
let server: Server;
let issuerUrl: string;
let caPem: string;
let clock: VirtualClock;
let keys: JWK[];
let respond: ((path: string, response: ServerResponse) => void) | undefined;
const asked: string[] = [];

const jwkOf = async ({ publicKey }: ReturnType<typeof rsa>, kid: string): Promise<JWK> => ({
  ...(await exportJWK(publicKey)),
  ...{ kid, alg: 'RS256', use: 'sig' },
});

before(async () => {
  const authority = await createTestAuthority('provider');
  const { certPem, keyPem } = await authority.issue('CN=issuer', ['127.0.0.1']);
  caPem = authority.caPem;
  server = createServer({ cert: certPem, key: keyPem }, ({ url = '' }, response) => {
    asked.push(url);
    response.on('error', () => undefined);
    if (respond !== undefined) return respond(url, response);
    const document = { issuer: issuerUrl, jwks_uri: `${issuerUrl}/keys` };
    response.end(JSON.stringify(url === '/keys' ? { keys } : document));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  issuerUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => {
  net.close();
  server.closeAllConnections();
  server.close();
});
beforeEach(async () => {
  clock = new VirtualClock();
  keys = [await jwkOf(first, 'one')];
  respond = undefined;
  asked.length = 0;
});

const authenticator = (more: Partial<OidcConfig> = {}): TokenAuthenticator =>
  createOidcAuthenticator({ net, clock }, {
    issuerUrl,
    clientId: 'cluster',
    caPem,
    usernameClaim: 'sub',
    usernamePrefix: 'oidc:',
    groupsClaim: 'groups',
    groupsPrefix: '',
    requiredClaims: {},
    signingAlgorithms: ['RS256'],
    ...more,
  } as OidcConfig);

const seconds = (offset: number): number => Math.floor(clock.nowMs() / 1000) + offset;
const token = (claims: object = {}, header: object = {}, key = first.privateKey): Promise<string> =>
  new SignJWT({ iss: issuerUrl, aud: 'cluster', sub: 'ann', exp: seconds(600), ...claims })
    .setProtectedHeader({ alg: 'RS256', kid: 'one', ...header })
    .sign(key);
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const claimsNow = (): object => ({ iss: issuerUrl, aud: 'cluster', sub: 'ann', exp: seconds(600) });
const parts = async (): Promise<[string, string, string]> => (await token()).split('.') as [string, string, string];

/** Tokens of this issuer that do not hold. */
const refused: Readonly<Record<string, () => Promise<string>>> = {
  'for another audience': () => token({ aud: 'others' }),
  'for no audience': () => token({ aud: [] }),
  expired: () => token({ exp: seconds(-60) }),
  'without an end': () => token({ exp: undefined }),
  'not yet valid': () => token({ nbf: seconds(600) }),
  'without a name': () => token({ sub: undefined }),
  'with a name of another type': () => token({ sub: 5 }),
  'signed by a stranger under the known key id': () => token({}, {}, stranger.privateKey),
  'signed by a key that is not published': () => token({}, { kid: 'two' }, stranger.privateKey),
  'with algorithm none': async () => `${encoded({ alg: 'none' })}.${encoded(claimsNow())}.`,
  'with algorithm none and a signature': async () =>
    `${encoded({ alg: 'none' })}.${(await parts())[1]}.${(await parts())[2]}`,
  'with an algorithm that is not chosen': () => token({}, { alg: 'PS256' }),
  'signed by the public key as a secret': async () => {
    const head = `${encoded({ alg: 'HS256', kid: 'one' })}.${encoded(claimsNow())}`;
    const secret = first.publicKey.export({ type: 'spki', format: 'pem' });
    return `${head}.${createHmac('sha256', secret).update(head).digest('base64url')}`;
  },
  'with critical extensions': async () => {
    const [, body, signature] = await parts();
    return `${encoded({ alg: 'RS256', kid: 'one', crit: ['x'], x: 1 })}.${body}.${signature}`;
  },
  'with a key of its own': async () =>
    token({}, { jwk: await jwkOf(stranger, 'one'), kid: undefined }, stranger.privateKey),
  'with other claims than were signed': async () => {
    const [head, , signature] = await parts();
    return `${head}.${encoded({ ...claimsNow(), sub: 'admin' })}.${signature}`;
  },
  'without a signature': async () => `${(await parts()).slice(0, 2).join('.')}.`,
};

for (const [what, make] of Object.entries(refused))
  test(`a token ${what} is refused, and the next is accepted`, async () => {
    const tokens = authenticator();
    await assert.rejects(tokens.authenticateToken(await make()), { name: 'StatusError' });
    assert.equal((await tokens.authenticateToken(await token()))?.name, 'oidc:ann');
  });

test('tokens of other issuers cause no request', async () => {
  for (const iss of ['https://elsewhere.example', `${issuerUrl}/`, issuerUrl.toUpperCase(), undefined])
    assert.equal(await authenticator().authenticateToken(await token({ iss })), undefined);
  assert.deepEqual(asked, []);
});

test('rotated keys are fetched when a token names one, old ones are no longer valid, and fetches are limited', async () => {
  const tokens = authenticator();
  assert.equal((await tokens.authenticateToken(await token()))?.name, 'oidc:ann');
  keys = [await jwkOf(second, 'two')];
  const next = await token({ sub: 'bob' }, { kid: 'two' }, second.privateKey);
  await clock.advance(10_000);
  assert.equal((await tokens.authenticateToken(next))?.name, 'oidc:bob');
  await assert.rejects(tokens.authenticateToken(await token()));
  const before = asked.length;
  for (let count = 0; count < 50; count++)
    await assert.rejects(tokens.authenticateToken(await token({}, { kid: `k${count}` }, stranger.privateKey)));
  assert.ok(asked.length - before <= 2, String(asked.length - before));
});

test('an issuer whose certificate has another authority is not trusted', async () => {
  const other = await createTestAuthority('other');
  await assert.rejects(authenticator({ caPem: other.caPem }).authenticateToken(await token()), /certificate/);
  assert.deepEqual(asked, []);
});

const forEver = (response: ServerResponse): void => {
  const more = (): void => {
    while (!response.destroyed && response.write(' '.repeat(65_536)));
  };
  response.on('drain', more);
  more();
};

/** The responses of an issuer in place of its documents. */
const hostile: Readonly<Record<string, (path: string, response: ServerResponse) => void>> = {
  'says nothing': () => undefined,
  'stops in the middle': (_, response) => void response.write('{'),
  'sends without end': (_, response) => forEver(response),
  'breaks off': (_, response) => void response.destroy(),
  'answers 500': (_, response) => void response.writeHead(500).end('oops'),
  redirects: (_, response) => void response.writeHead(302, { location: '/keys' }).end(),
  'answers no JSON': (_, response) => void response.end('<html>'),
  'answers null': (_, response) => void response.end('null'),
  'answers deep JSON': (_, response) => void response.end('[['.repeat(200_000)),
  'calls itself by another name': (path, response) =>
    void response.end(
      JSON.stringify(path === '/keys' ? { keys } : { issuer: 'https://x', jwks_uri: `${issuerUrl}/keys` }),
    ),
  'names no keys': (_, response) => void response.end(JSON.stringify({ issuer: issuerUrl })),
  'keeps its keys where no URL leads': (_, response) =>
    void response.end(JSON.stringify({ issuer: issuerUrl, jwks_uri: 'file:///etc/passwd' })),
  'has keys of other types': (path, response) =>
    void response.end(
      JSON.stringify(
        path === '/keys'
          ? { keys: [5, null, {}, { kty: 'oct', k: 'AA', kid: 'one', alg: 'RS256' }, { kty: 'RSA', n: 5, e: {} }] }
          : { issuer: issuerUrl, jwks_uri: `${issuerUrl}/keys` },
      ),
    ),
};

for (const [what, how] of Object.entries(hostile))
  test(`tokens of an issuer that ${what} are refused within the timeout, and accepted once it answers`, async () => {
    const tokens = authenticator();
    respond = how;
    const { error } = await settleWhileTimePasses(clock, tokens.authenticateToken(await token()), 31_000);
    assert.equal(error?.name, 'StatusError', String(error));
    assert.ok(error!.message.length < 5000);
    respond = undefined;
    await clock.advance(10_000);
    assert.equal((await tokens.authenticateToken(await token()))?.name, 'oidc:ann');
  });
