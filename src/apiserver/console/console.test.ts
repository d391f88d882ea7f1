import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest, ApiResponse, Principal } from '../../api/transport.ts';
import { StatusError, unauthorized } from '../../api/status-error.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { cookiesForBackend, cookiesOfBackend } from '../../component-helpers/streaming/console-cookie.ts';
import { bearerTokenOf } from '../authn/bearer-token.ts';
import type { Authenticator } from '../authn/contract.ts';
import { RequestScope } from '../request-scope.ts';
import { parseRequestInfo } from '../request-info.ts';
import { createConsole } from './console.ts';
import type { ConsoleFile } from './contract.ts';

const HOST = 'localhost:6443';
const ADMIN: Principal = { name: 'admin', groups: ['system:masters', 'system:authenticated'] };
const bot: Principal = { name: 'system:serviceaccount:ns:bot', groups: ['system:authenticated'] };

interface Ask {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly wantsUpgrade?: boolean;
  readonly peerCertificate?: ApiRequest['peerCertificate'];
}

const own = { 'x-keelson-console': '1' };

function fixture() {
  const clock = new VirtualClock();
  const accounts = new Map([['good-token', bot]]);
  let loads = 0;
  const tokens: Authenticator = {
    async authenticate({ headers }) {
      const token = bearerTokenOf(headers['authorization']);
      if (token === undefined) return undefined;
      const user = accounts.get(token);
      if (user === undefined) throw unauthorized();
      return user;
    },
  };
  const index = new Map<string, ConsoleFile>([
    ['index.html', { type: 'text/html; charset=utf-8', etag: '"1"', hashed: false, encodings: ['br', 'gzip'] }],
    ['main-abc.js', { type: 'text/javascript', etag: '"2"', hashed: true, encodings: ['br', 'gzip'] }],
  ]);
  const console = createConsole(
    async () => {
      loads++;
      return {
        clock,
        random: createSeededRandom(7),
        files: {
          index: async () => index,
          read: async (name: string, encoding?: string) => Buffer.from(`${name} ${encoding ?? 'plain'}`),
        },
      };
    },
    { tokens },
  );
  const request = (ask: Ask): ApiRequest => ({
    method: ask.method ?? 'GET',
    path: ask.path ?? '/api/v1/pods',
    query: '',
    headers: { host: HOST, ...ask.headers },
    remoteAddress: '::1',
    wantsObjects: false,
    wantsUpgrade: ask.wantsUpgrade ?? false,
    ...(ask.peerCertificate && { peerCertificate: ask.peerCertificate }),
    body: { kind: 'bytes', read: async () => Buffer.from(ask.body ?? ''), async *stream() {} },
    signal: new AbortController().signal,
  });
  /** The user that the authentication filter finds. */
  const userOf = async (one: ApiRequest): Promise<Principal | undefined> => {
    if (one.peerCertificate) return { name: one.peerCertificate.commonName, groups: ['system:authenticated'] };
    return (await tokens.authenticate(one)) ?? (await console.authenticator.authenticate(one));
  };
  const send = async (ask: Ask): Promise<{ status: number; headers: Record<string, unknown>; text: string }> => {
    const one = request(ask);
    try {
      const user = await userOf(one);
      if (user === undefined) return { status: 401, headers: {}, text: '' };
      const info = parseRequestInfo({ method: one.method, path: one.path, params: new URLSearchParams() });
      const scope = new RequestScope({ request: one, info, params: new URLSearchParams(), user });
      const answer = (await console.routes[0]!.serve(scope)) as Extract<ApiResponse, { kind: 'bytes' }>;
      return { status: answer.status, headers: answer.headers, text: Buffer.concat(answer.chunks).toString() };
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return { status: error.status.code ?? 0, headers: {}, text: error.status.message ?? '' };
    }
  };
  const who = async (ask: Ask): Promise<string | undefined> => (await userOf(request(ask)))?.name;
  const signIn = async (): Promise<string> => {
    const { headers } = await send({
      method: 'POST',
      path: '/console/session',
      headers: { ...own, authorization: 'Bearer good-token' },
    });
    return String(headers['set-cookie']).split(';')[0]!;
  };
  return { clock, accounts, send, who, signIn, loads: () => loads, console };
}

test('a token opens a session whose cookie only the page itself can use', async () => {
  const { send, who, signIn, accounts } = fixture();
  const answer = await send({
    method: 'POST',
    path: '/console/session',
    headers: { ...own, authorization: 'Bearer good-token' },
  });
  assert.equal(answer.status, 201);
  assert.equal((JSON.parse(answer.text) as { user: { username: string } }).user.username, bot.name);
  assert.match(
    String(answer.headers['set-cookie']),
    /^__Host-keelson-console-6443=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=43200$/,
  );
  const cookie = await signIn();
  assert.equal(await who({ headers: { cookie, ...own } }), bot.name);
  assert.equal(await who({ headers: { cookie: `a=b; ${cookie}; c=d`, ...own } }), bot.name);
  const refused: readonly [string, Ask][] = [
    ['without the header', { headers: { cookie } }],
    ['with another value', { headers: { cookie, 'x-keelson-console': '2' } }],
    ['from another site', { headers: { cookie, ...own, 'sec-fetch-site': 'cross-site' } }],
    ['from another port of the host', { headers: { cookie, ...own, 'sec-fetch-site': 'same-site' } }],
    ['from another origin', { headers: { cookie, ...own, origin: 'https://evil.example' } }],
    ['at another port', { headers: { cookie, ...own, host: 'localhost:7443' } }],
    ['of another value', { headers: { cookie: '__Host-keelson-console-6443=AAAA', ...own } }],
    ['of a huge header', { headers: { cookie: `${'x=y; '.repeat(10_000)}${cookie}`, ...own } }],
    ['beside basic credentials', { headers: { cookie, ...own, authorization: 'Basic YTpi' } }],
  ];
  for (const [name, ask] of refused) assert.equal(await who(ask), undefined, name);
  const socket = { upgrade: 'websocket', cookie };
  const upgrade = (headers: Record<string, string>): Promise<string | undefined> =>
    who({ wantsUpgrade: true, headers });
  assert.equal(await upgrade({ ...socket, origin: `https://${HOST}` }), bot.name);
  assert.equal(await upgrade({ ...socket, origin: 'https://evil.example' }), undefined);
  assert.equal(await upgrade(socket), undefined);
  assert.equal(await upgrade({ ...socket, ...own }), undefined, 'the header does not stand for an origin');
  assert.equal(await upgrade({ ...socket, upgrade: 'SPDY/3.1', origin: `https://${HOST}` }), undefined);
  const other = { commonName: 'carol', organizations: [], fingerprint256: '' };
  assert.equal(await who({ peerCertificate: other, headers: { cookie, ...own } }), 'carol', 'a certificate counts');
  accounts.clear();
  await assert.rejects(who({ headers: { cookie, ...own } }), { message: 'Unauthorized' }, 'the account is gone');
});

test('signing in requires the header and a credential, and refuses impersonation', async () => {
  const { send } = fixture();
  const post = (headers: Record<string, string>, body = '') =>
    send({ method: 'POST', path: '/console/session', headers, body });
  const bearer = { authorization: 'Bearer good-token' };
  assert.equal((await post(bearer)).status, 403, 'a form of another site');
  assert.equal((await post({ ...bearer, ...own, origin: 'https://evil.example' })).status, 403);
  assert.equal((await post(own)).status, 401);
  assert.equal((await post({ ...own, authorization: 'Bearer bad' })).status, 401);
  assert.equal((await post({ ...own, ...bearer, 'impersonate-user': 'root' })).status, 403);
  assert.equal((await post(own, '{"code":')).status, 400);
  assert.equal((await post(own, '{"code":"../../x"}')).status, 400);
  assert.equal((await post(own, `{"code":"${'A'.repeat(43)}"}`)).status, 401);
  const { status, text } = await send({ path: '/console/session', headers: bearer });
  assert.equal(status, 200);
  assert.equal((JSON.parse(text) as { user: { username: string } }).user.username, bot.name);
  assert.equal((await send({ path: '/console/session' })).status, 401);
});

test('a link signs in once, as the user who requested it, and never longer than the certificate', async () => {
  const { send, who, clock, accounts } = fixture();
  const link = async (ask: Ask): Promise<string> => {
    const { status, text } = await send({ method: 'POST', path: '/console/link', ...ask });
    assert.equal(status, 201);
    return (JSON.parse(text) as { code: string }).code;
  };
  const redeem = (code: string) =>
    send({ method: 'POST', path: '/console/session', headers: own, body: JSON.stringify({ code }) });
  const peerCertificate = {
    commonName: 'admin',
    organizations: [],
    fingerprint256: '',
    expiresAtMs: clock.nowMs() + 120_000,
  };
  const code = await link({ peerCertificate });
  const first = await redeem(code);
  assert.equal(first.status, 201);
  assert.match(String(first.headers['set-cookie']), /Max-Age=120$/);
  const cookie = String(first.headers['set-cookie']).split(';')[0]!;
  assert.equal((await redeem(code)).status, 401, 'stolen and used again');
  assert.equal(await who({ headers: { cookie, ...own } }), 'admin');
  const more = await send({ method: 'POST', path: '/console/link', headers: { cookie, ...own } });
  assert.equal(more.status, 403, 'a session makes no other, which could outlive it');
  await clock.advance(120_000);
  assert.equal(await who({ headers: { cookie, ...own } }), undefined);
  const ofToken = await redeem(await link({ headers: { authorization: 'Bearer good-token' } }));
  accounts.clear();
  const second = String(ofToken.headers['set-cookie']).split(';')[0]!;
  await assert.rejects(who({ headers: { cookie: second, ...own } }), { message: 'Unauthorized' });
  assert.equal((await send({ method: 'POST', path: '/console/link' })).status, 401);
  assert.equal((await send({ method: 'GET', path: '/console/link' })).status, 405);
});

test('a link of another user ends a session only with the consent of its user', async () => {
  const { send, who, signIn, clock } = fixture();
  const cookie = await signIn();
  const codeOf = async (ask: Ask): Promise<string> => {
    const { text } = await send({ method: 'POST', path: '/console/link', ...ask });
    return (JSON.parse(text) as { code: string }).code;
  };
  const follow = (body: object, headers: Record<string, string> = { cookie }) =>
    send({ method: 'POST', path: '/console/session', headers: { ...own, ...headers }, body: JSON.stringify(body) });
  const mallory = { commonName: 'mallory', organizations: [], fingerprint256: '' };
  const code = await codeOf({ peerCertificate: mallory });
  for (const replace of [undefined, false, 'true', 1, null]) {
    const { status, text } = await follow({ code, replace });
    assert.equal(status, 409, String(replace));
    assert.match(text, /system:serviceaccount:ns:bot/);
  }
  assert.equal((await follow({ code, replace: true }, { cookie, origin: 'null' })).status, 403, 'a sandboxed page');
  assert.equal(await who({ headers: { cookie, ...own } }), bot.name, 'the session stands');
  assert.equal((await follow({ code: 'A'.repeat(43) })).status, 401, 'an unknown code ends nothing');
  assert.equal((await follow({ code: 'A'.repeat(43), replace: true })).status, 401);
  assert.equal(await who({ headers: { cookie, ...own } }), bot.name);
  const replaced = await follow({ code, replace: true });
  assert.equal(replaced.status, 201);
  assert.equal(await who({ headers: { cookie, ...own } }), undefined);
  const next = String(replaced.headers['set-cookie']).split(';')[0]!;
  assert.equal(await who({ headers: { cookie: next, ...own } }), 'mallory');
  const mine = await codeOf({ peerCertificate: mallory });
  assert.equal(
    (await follow({ code: mine }, { cookie: next })).status,
    201,
    'a link of the same user needs no question',
  );
  const late = await codeOf({ peerCertificate: mallory });
  const other = await signIn();
  await clock.advance(60_000);
  assert.equal((await follow({ code: late }, { cookie: other })).status, 401);
});

test('a page of an opaque origin does not use the session', async () => {
  const { who, signIn } = fixture();
  const cookie = await signIn();
  const path = '/api/v1/secrets';
  assert.equal(await who({ path, headers: { cookie, ...own, origin: 'null' } }), undefined);
  assert.equal(await who({ path, headers: { cookie, ...own, 'sec-fetch-site': 'cross-site' } }), undefined);
  const socket = { upgrade: 'websocket', cookie, origin: 'null' };
  assert.equal(await who({ path, wantsUpgrade: true, headers: socket }), undefined);
});

test('signing out ends the session, and no other page can do it', async () => {
  const { send, who, signIn } = fixture();
  const cookie = await signIn();
  const sessionOf = (headers: Record<string, string>) => send({ method: 'DELETE', path: '/console/session', headers });
  assert.equal((await sessionOf({ cookie })).status, 403);
  assert.equal(await who({ headers: { cookie, ...own } }), bot.name);
  const { status, headers } = await sessionOf({ cookie, ...own });
  assert.equal(status, 204);
  assert.match(String(headers['set-cookie']), /^__Host-keelson-console-6443=; .*Max-Age=0$/);
  assert.equal(await who({ headers: { cookie, ...own } }), undefined);
});

test('files go to anyone, precompressed, under a policy without inline code', async () => {
  const { send, console, loads } = fixture();
  assert.equal(loads(), 0, 'nothing is loaded before the first request');
  const page = await send({ path: '/console/', headers: { 'accept-encoding': 'gzip, deflate, br' } });
  assert.deepEqual([page.status, page.text, page.headers['content-encoding']], [200, 'index.html br', 'br']);
  const { headers } = page;
  assert.match(String(headers['content-security-policy']), /^default-src 'none'; script-src 'self'; style-src 'self';/);
  assert.doesNotMatch(String(headers['content-security-policy']), /unsafe/);
  assert.equal(headers['x-frame-options'], 'DENY');
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.equal(headers['referrer-policy'], 'no-referrer');
  assert.equal(headers['cache-control'], 'no-cache');
  assert.equal((await send({ path: '/console/', headers: { 'if-none-match': '"1"' } })).status, 304);
  const zipped = await send({ path: '/console/main-abc.js', headers: { 'accept-encoding': 'br;q=0, gzip;q=0.5' } });
  assert.equal(zipped.headers['content-encoding'], 'gzip');
  assert.match(String(zipped.headers['cache-control']), /immutable/);
  assert.equal((await send({ path: '/console/main-abc.js' })).text, 'main-abc.js plain');
  assert.equal((await send({ path: '/console' })).headers['location'], '/console/');
  for (const path of ['..%2fpackage.json', '../package.json', '%2e%2e/x', 'main-abc.js/', 'constructor', 'files.json'])
    assert.equal((await send({ path: `/console/${path}` })).status, 404, path);
  const decide = (path: string, isResourceRequest = false): unknown =>
    (console.authorizer.authorize({ path, isResourceRequest } as never) as { decision: string }).decision;
  assert.equal(decide('/console/x'), 'allow');
  for (const path of ['/consoles', '/', '/metrics', '/api/console/']) assert.equal(decide(path), 'noOpinion');
  assert.equal(decide('/console/x', true), 'noOpinion');
});

test('backends behind proxy paths neither receive nor set the cookie', () => {
  assert.equal(cookiesForBackend('a=1; b=2'), 'a=1; b=2');
  assert.equal(cookiesForBackend('__Host-keelson-console-6443=x'), undefined);
  assert.equal(cookiesForBackend('a=1; __Host-keelson-console-6443=x; b=2'), 'a=1; b=2');
  assert.deepEqual(cookiesOfBackend(['a=1', ' __Host-keelson-console-1=x; Path=/']), ['a=1']);
});

test('an administrator of the process signs in by a link as well', async () => {
  const { console } = fixture();
  const info = parseRequestInfo({ method: 'POST', path: '/console/link', params: new URLSearchParams() });
  const request = {
    method: 'POST',
    path: '/console/link',
    query: '',
    headers: {},
    principal: ADMIN,
    wantsObjects: true,
    body: { kind: 'none' },
  } as unknown as ApiRequest;
  const answer = await console.routes[0]!.serve(
    new RequestScope({ request, info, params: new URLSearchParams(), user: ADMIN }),
  );
  assert.equal(answer.kind === 'object' && answer.status, 201);
});
