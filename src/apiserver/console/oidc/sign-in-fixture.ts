/** An issuer in a simulated network, and a console with OpenID Connect. */
import { createHash, generateKeyPairSync } from 'node:crypto';
import { exportJWK, SignJWT } from 'jose';
import { StatusError } from '../../../api/status-error.ts';
import type { ApiRequest, ApiResponse, Principal } from '../../../api/transport.ts';
import type { HttpRequest, HttpResponse } from '../../../platform/http.ts';
import { createSimCrypto } from '../../../platform/sim/crypto.ts';
import { createMemoryLog } from '../../../platform/sim/log.ts';
import { createSimNet, createSimNetwork } from '../../../platform/sim/net.ts';
import { createSeededRandom } from '../../../platform/sim/random.ts';
import { VirtualClock } from '../../../platform/sim/virtual-clock.ts';
import { createBearerTokenAuthenticator, type TokenAuthenticator } from '../../authn/bearer-token.ts';
import { createOidcAuthenticator } from '../../authn/oidc.ts';
import { MaxInFlight } from '../../filters/max-in-flight.ts';
import { withTimeout } from '../../filters/timeout.ts';
import { parseRequestInfo } from '../../request-info.ts';
import { RequestScope } from '../../request-scope.ts';
import { createConsole } from '../console.ts';

export const ISSUER_URL = 'https://10.0.0.9';
export const HOST = 'localhost:6443';
export const ORIGIN = `https://${HOST}`;
export const PAGE = { 'x-keelson-console': '1' };

interface Answer {
  readonly status?: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Undefined: the issuer never answers. */
type Respond = (request: HttpRequest, body: string) => Answer | undefined | Promise<Answer | undefined>;

export interface Answered {
  readonly status: number;
  readonly location: string;
  readonly cookies: readonly string[];
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

const key = generateKeyPairSync('rsa', { modulusLength: 2048 });
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });

async function startIssuer(clock: VirtualClock) {
  const network = createSimNetwork(clock);
  const requests: { readonly path: string; readonly body: string; readonly authorization: string | undefined }[] = [];
  const jwk = { ...(await exportJWK(key.publicKey)), kid: 'a', alg: 'RS256', use: 'sig' };
  /** Challenge and nonce by code. */
  const codes = new Map<string, { readonly challenge: string; readonly nonce: string }>();
  const documents: Record<string, unknown> = {
    issuer: ISSUER_URL,
    jwks_uri: `${ISSUER_URL}/keys`,
    authorization_endpoint: `${ISSUER_URL}/authorize?tenant=t`,
    token_endpoint: `${ISSUER_URL}/token`,
    scopes_supported: ['openid', 'email', 'groups', 'offline_access'],
  };
  const idToken = (claims: object, by = key): Promise<string> => {
    const seconds = Math.floor(clock.nowMs() / 1000);
    return new SignJWT({ iss: ISSUER_URL, aud: 'console', sub: 'ann', iat: seconds, exp: seconds + 600, ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'a' })
      .sign(by.privateKey);
  };
  const issuer = {
    requests,
    documents,
    strangersKey: stranger,
    /** Claims that tokens have instead of the usual ones. */
    claims: {} as object,
    key,
    /** The delay of each response. */
    delayMs: 0,
    respond: undefined as Record<string, Respond> | undefined,
    idToken,
    /** Signs in at the issuer's page. Returns the query of the callback. */
    approve(location: string): URLSearchParams {
      const asked = new URL(location).searchParams;
      const code = `code-${codes.size}`;
      codes.set(code, { challenge: asked.get('code_challenge')!, nonce: asked.get('nonce')! });
      return new URLSearchParams({ code, state: asked.get('state')! });
    },
  };
  const token: Respond = async (_, body) => {
    const asked = new URLSearchParams(body);
    const code = codes.get(asked.get('code') ?? '');
    codes.delete(asked.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(asked.get('code_verifier') ?? '')
      .digest('base64url');
    if (
      code === undefined ||
      challenge !== code.challenge ||
      asked.get('redirect_uri') !== `${ORIGIN}/console/oidc/callback`
    )
      return { status: 400, body: { error: 'invalid_grant' } };
    const id_token = await idToken({ nonce: code.nonce, ...issuer.claims }, issuer.key);
    return { body: { access_token: 'access', token_type: 'Bearer', id_token } };
  };
  const usual: Record<string, Respond> = {
    '/.well-known/openid-configuration': () => ({ body: documents }),
    '/keys': () => ({ body: { keys: [jwk] } }),
    '/token': token,
  };
  const serve = async (request: HttpRequest): Promise<HttpResponse> => {
    const body = Buffer.from(await request.readBody(1 << 20)).toString();
    requests.push({ path: request.path, body, authorization: request.headers['authorization'] });
    const respond = issuer.respond?.[request.path] ?? usual[request.path];
    const answer = respond === undefined ? { status: 404, body: {} } : await respond(request, body);
    if (issuer.delayMs > 0) await clock.sleep(issuer.delayMs);
    if (answer === undefined) return new Promise(() => undefined);
    const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
    const headers = { 'content-type': 'application/json', ...answer.headers };
    return { kind: 'bytes', status: answer.status ?? 200, headers, chunks: [Buffer.from(text)] };
  };
  await createSimNet(network, ['10.0.0.9']).listenHttp({ host: '0.0.0.0', port: 443 }, serve);
  return { issuer, net: createSimNet(network, ['10.0.0.1']) };
}

interface SignInFixture {
  readonly secret?: string;
  readonly redirectOrigins?: readonly string[];
  /** Authenticators that run before the issuer's. */
  readonly first?: readonly TokenAuthenticator[];
}

export async function signInFixture({ secret, redirectOrigins, first = [] }: SignInFixture = {}) {
  const clock = new VirtualClock();
  const { issuer, net } = await startIssuer(clock);
  const oidc = createOidcAuthenticator(
    { net, clock },
    {
      issuerUrl: ISSUER_URL,
      clientId: ['cluster', 'console'],
      usernameClaim: 'sub',
      usernamePrefix: 'oidc:',
      groupsPrefix: '',
      requiredClaims: {},
      signingAlgorithms: ['RS256'],
    },
  );
  const log = createMemoryLog();
  const tokens = createBearerTokenAuthenticator([...first, oidc], { clock, log: createMemoryLog() });
  const clientSecret = secret === undefined ? undefined : async () => secret;
  const config = { isOn: true, clientId: 'console', servingNames: ['localhost', '10.0.0.1', '::1'] };
  const signIn = {
    ...{ net, clock, log, redirectOrigins, crypto: createSimCrypto(clock) },
    issuer: async () => (config.isOn ? { issuerUrl: ISSUER_URL, clientId: config.clientId, clientSecret } : undefined),
    servingNames: () => config.servingNames,
  };
  const console = createConsole(
    async () => ({
      clock,
      random: createSeededRandom(7),
      files: { index: async () => new Map(), read: async () => Buffer.from('') },
    }),
    { tokens, signIn },
  );
  const serve = withTimeout({ clock, inFlight: new MaxInFlight({ readOnly: 100, mutating: 100 }) })((scope) =>
    console.routes[0]!.serve(scope),
  );
  const requestOf = (target: string, headers: Readonly<Record<string, string>>, remoteAddress = '::1'): ApiRequest => {
    const { pathname: path, search } = new URL(target, ORIGIN);
    const body = { kind: 'bytes' as const, read: async () => Buffer.from(''), async *stream() {} };
    const { signal } = new AbortController();
    const rest = { wantsObjects: false, wantsUpgrade: false, remoteAddress, body, signal };
    return { method: 'GET', path, query: search.slice(1), headers: { host: HOST, ...headers }, ...rest };
  };
  const userOf = async (request: ApiRequest): Promise<Principal | undefined> =>
    (await tokens.authenticate(request)) ?? (await console.authenticator.authenticate(request));
  const get = async (
    target: string,
    headers: Readonly<Record<string, string>> = {},
    remoteAddress?: string,
  ): Promise<Answered> => {
    const request = requestOf(target, headers, remoteAddress);
    try {
      const params = new URLSearchParams(request.query);
      const info = parseRequestInfo({ method: 'GET', path: request.path, params });
      const scope = new RequestScope({ request, info, params, user: (await userOf(request))! });
      scope.timeoutMs = 60_000;
      return answeredOf(await serve(scope));
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      const { code = 0, message = '' } = error.status;
      return { status: code, location: '', cookies: [], headers: {}, text: message };
    }
  };
  const who = async (cookie: string): Promise<string | undefined> =>
    (await userOf(requestOf('/api/v1/pods', { cookie, ...PAGE })))?.name;
  /** Begins a sign-in in a browser. */
  const begin = async (headers: Readonly<Record<string, string>> = {}, remoteAddress?: string) => {
    const { status, location, cookies } = await get('/console/oidc/start', headers, remoteAddress);
    return { status, location, cookie: cookies[0]?.split(';')[0] ?? '', line: cookies[0] ?? '' };
  };
  const callback = (query: URLSearchParams, cookie: string, headers = {}): Promise<Answered> =>
    get(`/console/oidc/callback?${query}`, {
      ...(cookie === '' ? {} : { cookie }),
      'sec-fetch-site': 'cross-site',
      ...headers,
    });
  /** The options of the sign-in page. */
  const offered = async (): Promise<unknown> => JSON.parse((await get('/console/oidc', PAGE)).text);
  /** The last line of the log. */
  const logged = (): unknown => log.entries.at(-1)?.fields['reason'];
  return { clock, log, issuer, config, get, who, begin, callback, offered, logged };
}

function answeredOf(answer: ApiResponse): Answered {
  if (answer.kind !== 'bytes') throw new Error(`unexpected answer ${answer.kind}`);
  const { status, headers, chunks } = answer;
  const cookies = [headers['set-cookie'] ?? []].flat();
  return {
    status,
    headers,
    cookies,
    location: String(headers['location'] ?? ''),
    text: Buffer.concat(chunks).toString(),
  };
}
