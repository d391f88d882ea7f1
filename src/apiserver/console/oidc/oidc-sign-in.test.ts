import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settleWhileTimePasses } from '../../../platform/node/settle-fixture.ts';
import { ISSUER_URL, ORIGIN, signInFixture } from './sign-in-fixture.ts';
import { SIGN_IN_MS } from './sign-in-secrets.ts';

const SESSION = /^__Host-keelson-console-6443=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=43200$/;
const OVER = '__Host-keelson-console-6443-oidc=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0';
const cookieOf = (line: string | undefined): string => (line ?? '').split(';')[0]!;

type Fixture = Awaited<ReturnType<typeof signInFixture>>;

test('a browser signs in at the issuer with PKCE, state and nonce, and has a session of the ID token', async () => {
  const { begin, callback, who, issuer, clock, offered } = await signInFixture();
  assert.deepEqual(await offered(), { host: '10.0.0.9' });
  assert.equal(issuer.requests.length, 0, 'the issuer is not contacted before somebody signs in');
  const { status, location, cookie, line } = await begin();
  assert.equal(status, 303);
  const url = new URL(location);
  assert.equal(`${url.origin}${url.pathname}`, `${ISSUER_URL}/authorize`);
  const { state, nonce, code_challenge, ...rest } = Object.fromEntries(url.searchParams);
  for (const secret of [state, nonce, code_challenge]) assert.match(secret ?? '', /^[\w-]{43}$/);
  assert.equal(new Set([state, nonce, code_challenge, cookie.split('=')[1]]).size, 4);
  assert.deepEqual(rest, {
    tenant: 't',
    response_type: 'code',
    client_id: 'console',
    redirect_uri: `${ORIGIN}/console/oidc/callback`,
    scope: 'openid email groups',
    code_challenge_method: 'S256',
  });
  assert.match(
    line,
    /^__Host-keelson-console-6443-oidc=[\w-]{43}\.\d+; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=600$/,
  );
  const answer = await callback(issuer.approve(location), cookie);
  assert.deepEqual([answer.status, answer.location], [303, '/console/']);
  assert.equal(answer.headers['cache-control'], 'no-store');
  assert.match(answer.cookies[0] ?? '', SESSION);
  assert.equal(answer.cookies[1], OVER);
  const session = cookieOf(answer.cookies[0]);
  assert.equal(await who(session), 'oidc:ann');
  assert.match(issuer.requests.find(({ path }) => path === '/token')?.body ?? '', /(^|&)client_id=console(&|$)/);
  await clock.advance(601_000);
  await assert.rejects(who(session), { message: 'Unauthorized' }, 'the ID token has expired');
});

test('the secret of a confidential client is sent by the method that the issuer supports', async () => {
  for (const [methods, expected] of [
    [undefined, 'Basic Y29uc29sZTpwJTI2cQ=='],
    [['client_secret_post'], undefined],
  ] as const) {
    const { begin, callback, issuer } = await signInFixture({ secret: 'p&q' });
    issuer.documents['token_endpoint_auth_methods_supported'] = methods;
    const { location, cookie } = await begin();
    assert.match((await callback(issuer.approve(location), cookie)).cookies[0] ?? '', SESSION);
    const asked = issuer.requests.find(({ path }) => path === '/token');
    assert.equal(asked?.authorization, expected);
    assert.equal(new URLSearchParams(asked?.body).get('client_secret'), expected === undefined ? 'p&q' : null);
  }
});

test('the session that the browser had before ends, and a second sign-in replaces the first', async () => {
  const { begin, callback, who, issuer } = await signInFixture();
  const signIn = async (headers = {}): Promise<string> => {
    const { location, cookie } = await begin(headers);
    return cookieOf((await callback(issuer.approve(location), cookie)).cookies[0]);
  };
  const first = await signIn();
  assert.equal(await who(first), 'oidc:ann');
  const second = await signIn({ cookie: first, 'sec-fetch-site': 'same-origin' });
  assert.equal(await who(second), 'oidc:ann');
  assert.equal(await who(first), undefined);
});

test('a callback that is not of this browser and this sign-in opens no session and ends no sign-in', async () => {
  const { begin, callback, config, issuer, clock } = await signInFixture();
  const mine = await begin();
  const theirs = await begin();
  const good = issuer.approve(mine.location);
  const changed = (name: string, value?: string): URLSearchParams => {
    const query = new URLSearchParams(good);
    if (value === undefined) query.delete(name);
    else query.set(name, value);
    return query;
  };
  const twice = new URLSearchParams(good);
  twice.append('state', good.get('state')!);
  const [id, expiry = ''] = mine.cookie.split('.');
  const attacks: readonly [string, URLSearchParams, string, object?][] = [
    ['wrong state', changed('state', 'A'.repeat(43)), mine.cookie],
    ['short state', changed('state', good.get('state')!.slice(1)), mine.cookie],
    ['empty state', changed('state', ''), mine.cookie],
    ['no state', changed('state'), mine.cookie],
    ['state given twice', twice, mine.cookie],
    ['no cookie', good, ''],
    ["another browser's cookie", good, theirs.cookie],
    ['an invented cookie', good, `__Host-keelson-console-6443-oidc=${'A'.repeat(43)}.${expiry}`],
    ['a cookie without an end', good, id!],
    ['a cookie with a later end', good, `${id}.${Number(expiry) + 1}`],
    ['a cookie with a session to end', good, `${mine.cookie}.${'A'.repeat(43)}`],
    ['a cookie with more', good, `${mine.cookie}.`],
    ['the cookie under the name of sessions', good, mine.cookie.replace('-oidc=', '=')],
    ['another host', good, mine.cookie, { host: 'evil.example:6443' }],
    ["another one of the server's names", good, mine.cookie, { host: '10.0.0.1:6443' }],
  ];
  for (const [what, query, cookie, headers] of attacks) {
    const { status, location, cookies } = await callback(query, cookie, headers);
    assert.deepEqual([status, location, cookies], [303, '/console/#oidc=stale', []], what);
  }
  config.clientId = 'cluster';
  assert.equal((await callback(good, mine.cookie)).location, '/console/#oidc=stale', 'begun as another client');
  config.clientId = 'console';
  assert.ok(!issuer.requests.some(({ path }) => path === '/token'), 'no code was exchanged');
  assert.match((await callback(good, mine.cookie)).cookies[0] ?? '', SESSION, 'the sign-in goes on');
  const again = await callback(good, mine.cookie);
  assert.deepEqual([again.location, again.cookies], ['/console/#oidc=issuer', [OVER]], 'the issuer takes a code once');
  await clock.advance(SIGN_IN_MS);
  const late = await callback(issuer.approve(theirs.location), theirs.cookie);
  assert.deepEqual([late.location, late.cookies], ['/console/#oidc=stale', []], 'too late');
});

test('a sign-in begins on the own page alone', async () => {
  const { begin, get, config, offered } = await signInFixture();
  for (const site of ['cross-site', 'same-site']) assert.equal((await begin({ 'sec-fetch-site': site })).status, 403);
  const other = await get('/console/oidc/start?redirect_uri=https://evil.example&issuer=https://evil.example');
  assert.equal(new URL(other.location).searchParams.get('redirect_uri'), `${ORIGIN}/console/oidc/callback`);
  assert.equal((await get('/console/oidc/else')).status, 404);
  config.isOn = false;
  assert.deepEqual(await offered(), {});
  for (const path of ['start', 'callback', 'else']) assert.equal((await get(`/console/oidc/${path}`)).status, 404);
});

/** Where the issuer is to send the browser back; '' when the sign-in does not begin. */
async function redirectUriAt({ begin, issuer, logged }: Fixture, host: string): Promise<string> {
  const before = issuer.requests.length;
  const { status, location, cookie } = await begin({ host });
  assert.equal(status, 303);
  if (location !== '/console/#oidc=address') return new URL(location).searchParams.get('redirect_uri') ?? '';
  assert.deepEqual([cookie, issuer.requests.length], ['', before]);
  assert.match(String(logged()), /^10\.0\.0\.9: no sign-in at the host ".*": .*--console-oidc-redirect-origin/);
  return '';
}

const NO_HOSTS = [
  '',
  'a b',
  'evil.example/x',
  'user@localhost',
  'x:1:2',
  '[::1',
  'a"b',
  'localhost:99999',
  '1.2.3.4.5',
];

test('the issuer sends browsers back to names and addresses of the serving certificate alone', async () => {
  const fixture = await signInFixture();
  const hosts = ['localhost:6443', 'localhost', '10.0.0.1', '[::1]:6443'];
  for (const host of hosts) assert.equal(await redirectUriAt(fixture, host), `https://${host}/console/oidc/callback`);
  assert.equal(await redirectUriAt(fixture, 'LocalHost:443'), 'https://localhost/console/oidc/callback');
  for (const host of [
    ...NO_HOSTS,
    'evil.example',
    'evil.example:6443',
    'localhost.evil.example',
    'localhost.',
    '[::2]',
  ])
    assert.equal(await redirectUriAt(fixture, host), '', host);
  fixture.config.servingNames = ['evil.example'];
  assert.notEqual(await redirectUriAt(fixture, 'evil.example'), '', 'the certificate was replaced');
});

test('the issuer sends browsers back to the configured origins alone', async () => {
  const fixture = await signInFixture({ redirectOrigins: ['https://console.example.com', 'https://[fd00::1]:8443'] });
  for (const host of ['console.example.com', 'Console.Example.com:443'])
    assert.equal(await redirectUriAt(fixture, host), 'https://console.example.com/console/oidc/callback');
  assert.equal(await redirectUriAt(fixture, '[FD00::1]:8443'), 'https://[fd00::1]:8443/console/oidc/callback');
  const others = ['localhost:6443', 'console.example.com:8443', 'example.com', 'x.console.example.com', '[fd00::1]'];
  for (const host of [...NO_HOSTS, ...others]) assert.equal(await redirectUriAt(fixture, host), '', host);
});

test('a server keeps nothing of sign-ins that begin: however many there are, each can end', async () => {
  const { begin, callback, issuer } = await signInFixture();
  const first = await begin({}, '10.1.1.1');
  const others = [];
  for (let count = 0; count < 2000; count++) others.push(await begin({}, `10.2.0.${count % 4}`));
  for (const { location, cookie } of [first, others[0]!, others.at(-1)!])
    assert.match((await callback(issuer.approve(location), cookie)).cookies[0] ?? '', SESSION);
  const discovered = issuer.requests.filter(({ path }) => path === '/.well-known/openid-configuration');
  assert.equal(discovered.length, 2, 'once for sign-ins, once by the authenticator');
});

const tokenAnswer = (body: unknown, status = 200, headers = {}) => ({ '/token': () => ({ body, status, headers }) });

/** What the issuer does after the redirect, the text in the log, and the reason in the URL of the browser. */
const failures: Readonly<Record<string, readonly [(fixture: Fixture) => void, RegExp, string?]>> = {
  'gives a token with another nonce': [({ issuer }) => (issuer.claims = { nonce: 'x'.repeat(43) }), /"nonce"/],
  'gives a token without a nonce': [({ issuer }) => (issuer.claims = { nonce: undefined }), /"nonce"/],
  'gives a token for another audience': [({ issuer }) => (issuer.claims = { aud: 'others' }), /"aud"/],
  'gives a token for another client of the cluster': [({ issuer }) => (issuer.claims = { aud: 'cluster' }), /"aud"/],
  'gives a token of another issuer': [({ issuer }) => (issuer.claims = { iss: 'https://evil.example' }), /"iss"/],
  'gives an expired token': [
    ({ issuer }) => (issuer.claims = { exp: 5 }),
    /^10\.0\.0\.9: the API server does not accept the ID token$/,
    'rejected',
  ],
  'gives a token of an unknown key': [
    ({ issuer }) => (issuer.key = issuer.strangersKey),
    /does not accept the ID token/,
    'rejected',
  ],
  'gives a huge token': [
    ({ issuer }) => (issuer.claims = { groups: ['x'.repeat(60_000)] }),
    /the ID token is longer than 65536 characters$/,
  ],
  'gives no ID token': [
    ({ issuer }) => (issuer.respond = tokenAnswer({ access_token: 'a', token_type: 'Bearer' })),
    /"id_token"/,
  ],
  'refuses the code': [
    ({ issuer }) => (issuer.respond = tokenAnswer({ error: 'invalid_client', error_description: 'bad secret' }, 401)),
    /^10\.0\.0\.9: invalid_client: bad secret$/,
  ],
  'answers HTML': [
    ({ issuer }) => (issuer.respond = tokenAnswer('<html>', 200, { 'content-type': 'text/html' })),
    /content-type/,
  ],
  'answers more than a mebibyte': [
    ({ issuer }) => (issuer.respond = tokenAnswer(' '.repeat((1 << 20) + 1))),
    /answers with more than 1048576 bytes$/,
  ],
  redirects: [
    ({ issuer }) => (issuer.respond = tokenAnswer('', 307, { location: 'https://10.0.0.1/admin' })),
    /\/token answers with 307$/,
  ],
  'answers 500 without an error': [({ issuer }) => (issuer.respond = tokenAnswer('oops', 500)), /^10\.0\.0\.9: \S/],
  hangs: [({ issuer }) => (issuer.respond = { '/token': () => undefined }), /Post .*: context deadline exceeded$/],
  'answers late each time': [({ issuer }) => (issuer.delayMs = 25_000), /^10\.0\.0\.9: no answer within 45 seconds$/],
};

for (const [what, [prepare, text, reason = 'issuer']] of Object.entries(failures))
  test(`an issuer that ${what} opens no session; the log has the reason, the browser gets one word`, async () => {
    const fixture = await signInFixture();
    const { begin, callback, issuer, clock, log } = fixture;
    const { location, cookie } = await begin();
    prepare(fixture);
    const query = issuer.approve(location);
    const { value } = await settleWhileTimePasses(clock, callback(query, cookie), 1_000);
    assert.deepEqual([value?.status, value?.location, value?.cookies], [303, `/console/#oidc=${reason}`, [OVER]]);
    assert.deepEqual(
      log.entries.map(({ level }) => level),
      ['warn'],
    );
    const { reason: line } = log.entries[0]!.fields;
    assert.match(String(line), text);
    assert.match(String(line), /^[^\r\n]{1,301}$/);
    assert.deepEqual(Object.keys(log.entries[0]!.fields), ['reason'], 'no answer of the issuer');
  });

test('a token whose user is not authenticated opens no session', async () => {
  const authenticateToken = async () => ({ name: 'system:anonymous', groups: ['system:unauthenticated'] });
  const { begin, callback, issuer } = await signInFixture({ first: [{ authenticateToken }] });
  const { location, cookie } = await begin();
  assert.equal((await callback(issuer.approve(location), cookie)).location, '/console/#oidc=rejected');
});

test('an error in the query of the redirect is one bounded line in the log, and in no URL', async () => {
  const { begin, callback, logged } = await signInFixture();
  const failWith = async (error: string, description: string): Promise<readonly [string, unknown]> => {
    const { location, cookie } = await begin();
    const state = new URL(location).searchParams.get('state')!;
    const query = new URLSearchParams({ error, error_description: description, state });
    const answer = await callback(query, cookie);
    assert.deepEqual(answer.cookies, [OVER]);
    return [answer.location, logged()];
  };
  const denied = '/console/#oidc=denied';
  const html = '<img src=x onerror=alert(1)>';
  assert.deepEqual(await failWith('access_denied', html), [denied, `10.0.0.9: access_denied: ${html}`]);
  assert.deepEqual(await failWith('access_denied', 'a\r\nb\u0000c\u202Ed\u2028e'), [
    denied,
    '10.0.0.9: access_denied: a b c d e',
  ]);
  const [location, line] = await failWith('server_error', 'x'.repeat(100_000));
  assert.deepEqual([location, String(line).length], ['/console/#oidc=issuer', 301]);
});

test('scopes that the discovery document does not list are those of OpenID Connect', async () => {
  for (const supported of [undefined, null, 'openid']) {
    const { begin, issuer } = await signInFixture();
    issuer.documents['scopes_supported'] = supported;
    assert.equal(new URL((await begin()).location).searchParams.get('scope'), 'openid profile email');
  }
});

const ofDiscovery = (body: unknown) => ({ '/.well-known/openid-configuration': () => ({ body }) });
const undiscovered: Readonly<Record<string, readonly [(fixture: Fixture) => void, RegExp]>> = {
  'has another name': [({ issuer }) => (issuer.documents['issuer'] = 'https://evil.example'), /"issuer"/],
  'has a plain authorization endpoint': [
    ({ issuer }) => (issuer.documents['authorization_endpoint'] = 'http://10.0.0.9/authorize'),
    /^10\.0\.0\.9: authorization_endpoint of the discovery document is not an https URL$/,
  ],
  'has an authorization endpoint that is a script': [
    ({ issuer }) => (issuer.documents['authorization_endpoint'] = 'javascript:alert(1)'),
    /authorization_endpoint .* is not an https URL$/,
  ],
  'has a plain token endpoint': [
    ({ issuer }) => (issuer.documents['token_endpoint'] = 'http://169.254.169.254/latest'),
    /token_endpoint .* is not an https URL$/,
  ],
  'has no token endpoint': [({ issuer }) => delete issuer.documents['token_endpoint'], /token_endpoint/],
  'answers without end': [
    ({ issuer }) => (issuer.respond = ofDiscovery(' '.repeat(2 << 20))),
    /more than 1048576 bytes/,
  ],
  hangs: [
    ({ issuer }) => (issuer.respond = { '/.well-known/openid-configuration': () => undefined }),
    /context deadline exceeded$/,
  ],
};

for (const [what, [prepare, text]] of Object.entries(undiscovered))
  test(`a sign-in at an issuer that ${what} does not begin, nor ask it again for ten seconds`, async () => {
    const fixture = await signInFixture();
    const { begin, issuer, logged, clock } = fixture;
    prepare(fixture);
    const { value } = await settleWhileTimePasses(clock, begin(), 31_000);
    assert.deepEqual([value?.status, value?.location, value?.cookie], [303, '/console/#oidc=issuer', '']);
    assert.match(String(logged()), text);
    for (let count = 0; count < 20; count++) await begin();
    assert.equal(issuer.requests.length, 1);
    await clock.advance(10_000);
    await settleWhileTimePasses(clock, begin(), 31_000);
    assert.equal(issuer.requests.length, 2);
  });

test('an address has no more than sixteen codes exchanged at the same time, and does not stop others', async () => {
  const { begin, callback, get, issuer, logged, clock } = await signInFixture();
  issuer.respond = { '/token': () => undefined };
  const waiting: Promise<unknown>[] = [];
  for (let count = 0; count < 16; count++) {
    const { location, cookie } = await begin();
    waiting.push(callback(issuer.approve(location), cookie));
  }
  const { location, cookie } = await begin();
  const { value } = await settleWhileTimePasses(clock, callback(issuer.approve(location), cookie), 1);
  assert.equal(value?.location, '/console/#oidc=busy');
  assert.match(String(logged()), /too many sign-ins at the same time$/);
  const other = await begin({}, '10.1.1.1');
  issuer.respond = undefined;
  const { value: signedIn } = await settleWhileTimePasses(
    clock,
    get(`/console/oidc/callback?${issuer.approve(other.location)}`, { cookie: other.cookie }, '10.1.1.1'),
    1,
  );
  assert.match(signedIn?.cookies[0] ?? '', SESSION);
  await settleWhileTimePasses(clock, Promise.all(waiting), 31_000);
  const later = await begin();
  const { cookies } = await callback(issuer.approve(later.location), later.cookie);
  assert.match(cookies[0] ?? '', SESSION, 'the places are free again');
});
