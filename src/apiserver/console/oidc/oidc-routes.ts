/**
 * Sign-in at an OpenID Connect issuer: authorization code flow with PKCE, state and nonce.
 *
 * - `GET /console/oidc`: the issuer's host.
 * - `GET /console/oidc/start`: sends the browser to the issuer. A cookie binds the browser to the sign-in.
 * - `GET /console/oidc/callback`: where the issuer sends it back. The ID token becomes a session as a pasted token does.
 *
 * A sign-in that fails ends at the sign-in page, with a reason out of a fixed set in the address.
 */
import { forbidden, isReason, methodNotAllowed, noSuchPath } from '../../../api/status-error.ts';
import type { ApiRequest, ApiResponse, Principal } from '../../../api/transport.ts';
import { ConnectionCount } from '../../../base/connection-count.ts';
import { createDeferred } from '../../../base/deferred.ts';
import { AUTHENTICATED_GROUP } from '../../authn/client-certificate.ts';
import type { Authenticator } from '../../authn/contract.ts';
import type { RequestScope } from '../../request-scope.ts';
import { SIGN_IN_CALLBACK } from '../../request-uri.ts';
import { objectResponse } from '../../responses.ts';
import type { ConsolePorts } from '../contract.ts';
import { securityHeaders } from '../headers.ts';
import { hostOf, sessionIdOf, signInCookieNameOf, signInCookieOf } from '../request-origin.ts';
import { openSession, type SessionRouteDeps } from '../session-routes.ts';
import { authorizationUrl, AuthorizationServers, exchangeCode } from './authorization-server.ts';
import type { OidcSignIn, SignInIssuer } from './contract.ts';
import { redirectUriOf } from './redirect-uri.ts';
import { failureOf, failurePath, failureText, SignInError } from './sign-in-failure.ts';
import {
  parseSignInCookie,
  type SignInPlace,
  SignInSecrets,
  type SignInValues,
  SIGN_IN_MS,
} from './sign-in-secrets.ts';

/** Exchanges of codes at the same time: each may wait for a slow issuer, and anybody can begin one with an invented code. */
const EXCHANGES = { total: 64, ofOneAddress: 16 };
/** The longest that a callback waits for the issuer; requests end after a minute. */
const PATIENCE_MS = 45_000;
/** As long as a token that is pasted can be. */
const MAX_TOKEN_CHARACTERS = 65_536;

export interface OidcRouteDeps extends SessionRouteDeps {
  readonly ports: ConsolePorts;
  readonly tokens: Authenticator;
  readonly signIn: OidcSignIn;
}

/** What a callback belongs to. */
interface BegunSignIn extends SignInPlace {
  readonly values: SignInValues;
  readonly sessionBefore: string | undefined;
}

interface SignedIn {
  readonly user: Principal;
  readonly token: string;
}

export class OidcRoutes {
  readonly #deps: OidcRouteDeps;
  readonly #servers: AuthorizationServers;
  readonly #secrets: SignInSecrets;
  readonly #exchanges = new ConnectionCount(EXCHANGES);

  constructor(deps: OidcRouteDeps) {
    const { signIn, ports, nowMs } = deps;
    this.#deps = deps;
    this.#servers = new AuthorizationServers(signIn);
    this.#secrets = new SignInSecrets({ crypto: signIn.crypto, random: ports.random, nowMs });
  }

  async serve(issuer: SignInIssuer, scope: RequestScope): Promise<ApiResponse> {
    const { request } = scope;
    if (request.method !== 'GET') throw methodNotAllowed();
    switch (request.path) {
      case '/console/oidc':
        return statusOf(issuer, request);
      case '/console/oidc/start':
        return this.#start(issuer, request);
      case SIGN_IN_CALLBACK:
        return this.#callback(issuer, scope);
      default:
        throw noSuchPath();
    }
  }

  async #start(issuer: SignInIssuer, request: ApiRequest): Promise<ApiResponse> {
    const site = request.headers['sec-fetch-site'];
    if (site !== undefined && site !== 'same-origin' && site !== 'none')
      throw forbidden({ group: '', resource: '' }, '', 'another site begins the sign-in');
    try {
      const redirectUri = redirectUriOf(request, this.#deps.signIn);
      if (redirectUri === undefined) throw this.#otherHost(request);
      const server = await this.#servers.find(issuer);
      const cookie = this.#secrets.begin(sessionIdOf(request));
      const values = await this.#secrets.valuesOf(cookie, { issuer, redirectUri });
      const location = await authorizationUrl(server, { values, redirectUri });
      return redirect(location, [signInCookie(request, cookie, SIGN_IN_MS / 1000)]);
    } catch (error) {
      return this.#fail(issuer, error);
    }
  }

  async #callback(issuer: SignInIssuer, scope: RequestScope): Promise<ApiResponse> {
    const { request } = scope;
    const parameters = new URLSearchParams(request.query);
    const begun = await this.#begunBy(issuer, request, parameters);
    // Another site can lead the browser here: what does not belong to the sign-in leaves it as it is.
    if (begun === undefined) return redirect(failurePath('stale'));
    const over = signInCookie(request, '', 0);
    try {
      const { user, token } = await this.#withPatience(this.#identify(request, begun, parameters));
      if (scope.timedOut !== undefined) throw scope.timedOut;
      scope.signal.throwIfAborted();
      const before = sessionIdOf(request) ?? begun.sessionBefore;
      const { cookie } = openSession(this.#deps, request, { credential: { kind: 'token', user, token }, before });
      return redirect('/console/', [cookie, over]);
    } catch (error) {
      return this.#fail(issuer, error, [over]);
    }
  }

  async #begunBy(
    issuer: SignInIssuer,
    request: ApiRequest,
    parameters: URLSearchParams,
  ): Promise<BegunSignIn | undefined> {
    const cookie = parseSignInCookie(signInCookieOf(request) ?? '');
    const redirectUri = redirectUriOf(request, this.#deps.signIn);
    if (cookie === undefined || redirectUri === undefined) return undefined;
    const place = { issuer, redirectUri };
    const values = await this.#secrets.valuesFor(cookie, place, parameters.getAll('state'));
    return values && { ...place, values, sessionBefore: cookie.sessionBefore };
  }

  /** The ID token for the code, and its user. */
  async #identify(request: ApiRequest, begun: BegunSignIn, parameters: URLSearchParams): Promise<SignedIn> {
    const token = await this.#exchange(request, begun, parameters);
    if (token.length > MAX_TOKEN_CHARACTERS)
      throw new SignInError('issuer', `the ID token is longer than ${MAX_TOKEN_CHARACTERS} characters`);
    const user = await this.#userOf(request, token);
    if (user === undefined || !user.groups.includes(AUTHENTICATED_GROUP))
      throw new SignInError('rejected', 'the API server does not accept the ID token');
    return { user, token };
  }

  async #exchange({ remoteAddress }: ApiRequest, begun: BegunSignIn, parameters: URLSearchParams): Promise<string> {
    if (!this.#exchanges.enter(remoteAddress)) throw new SignInError('busy', 'too many sign-ins at the same time');
    try {
      const server = await this.#servers.find(begun.issuer);
      return await exchangeCode(this.#deps.signIn, { ...begun, server }, parameters);
    } finally {
      this.#exchanges.leave(remoteAddress);
    }
  }

  /** Undefined when the API server does not accept the token. */
  async #userOf(request: ApiRequest, token: string): Promise<Principal | undefined> {
    try {
      return await this.#deps.tokens.authenticate({ ...request, headers: { authorization: `Bearer ${token}` } });
    } catch (error) {
      if (!isReason(error, 'Unauthorized')) throw error;
      return undefined;
    }
  }

  async #withPatience<T>(work: Promise<T>): Promise<T> {
    const late = createDeferred<never>();
    const cancel = this.#deps.signIn.clock.setTimer(PATIENCE_MS, () =>
      late.reject(new Error(`no answer within ${PATIENCE_MS / 1000} seconds`)),
    );
    try {
      return await Promise.race([work, late.promise]);
    } finally {
      cancel();
    }
  }

  #otherHost(request: ApiRequest): SignInError {
    const flag = '--console-oidc-redirect-origin';
    const rule =
      this.#deps.signIn.redirectOrigins === undefined
        ? `the serving certificate does not name it; ${flag} can`
        : `${flag} does not name it`;
    return new SignInError(
      'address',
      `no sign-in at the host ${JSON.stringify(hostOf(request).slice(0, 100))}: ${rule}`,
    );
  }

  /** The log gets the text alone: causes of errors hold what the issuer answered, tokens too. */
  #fail(issuer: SignInIssuer, error: unknown, cookies: readonly string[] = []): ApiResponse {
    this.#deps.signIn.log.warn('a sign-in to the console failed', { reason: failureText(issuerHost(issuer), error) });
    return redirect(failurePath(failureOf(error)), cookies);
  }
}

function statusOf(issuer: SignInIssuer, request: ApiRequest): ApiResponse {
  const headers = { ...securityHeaders, 'cache-control': 'no-store' };
  return objectResponse(request, { status: 200, object: { host: issuerHost(issuer) }, headers });
}

function issuerHost({ issuerUrl }: SignInIssuer): string {
  return new URL(issuerUrl).host;
}

/** `Lax`: the browser sends it when the issuer's page redirects here. */
function signInCookie(request: ApiRequest, value: string, maxAgeSeconds: number): string {
  return `${signInCookieNameOf(request)}=${value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}`;
}

function redirect(location: string, cookies: readonly string[] = []): ApiResponse {
  const headers = { ...securityHeaders, 'cache-control': 'no-store', location, 'set-cookie': cookies };
  return { kind: 'bytes', status: 303, headers, chunks: [] };
}
