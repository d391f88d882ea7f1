/**
 * The issuer as an OAuth 2.0 client sees it: discovery, the URL of the authorization request, and the exchange of a code for an ID
 * token (oauth4webapi). Both endpoints must be https URLs.
 *
 * Times in the ID token are not checked here: the API server's authenticator checks them by the platform's clock, together with
 * the signature.
 */
import * as oauth from 'oauth4webapi';
import { isHttps, type IssuerHttpDeps, issuerText, requestIssuer } from '../../authn/issuer-http.ts';
import type { AuthorizationServer, SignInIssuer } from './contract.ts';
import type { SignInValues } from './sign-in-secrets.ts';

/** How long a discovery document is used. */
const METADATA_MS = 10 * 60_000;
/** The shortest interval between two requests for a discovery document that was not usable. */
const FAILURE_PAUSE_MS = 10_000;
/** Scopes beside `openid` that carry user names and groups. */
const SCOPES = ['profile', 'email', 'groups'];
const DEFAULT_SCOPES = ['profile', 'email'];

/** Fetches discovery documents; callers at the same time wait for one request. */
export class AuthorizationServers {
  readonly #deps: IssuerHttpDeps;
  #held: { readonly key: string; readonly metadata: Promise<oauth.AuthorizationServer>; untilMs: number } | undefined;

  constructor(deps: IssuerHttpDeps) {
    this.#deps = deps;
  }

  /** Rejects when the issuer does not answer, or with an unusable document. */
  async find(issuer: SignInIssuer): Promise<AuthorizationServer> {
    const key = JSON.stringify([issuer.issuerUrl, issuer.discoveryUrl, issuer.caPem]);
    if (this.#held?.key !== key || this.#held.untilMs <= this.#deps.clock.monotonicMs()) this.#discover(key, issuer);
    return { issuer, metadata: await this.#held!.metadata };
  }

  #discover(key: string, issuer: SignInIssuer): void {
    const { clock } = this.#deps;
    const held = { key, metadata: discover(this.#deps, issuer), untilMs: Infinity };
    this.#held = held;
    held.metadata.then(
      () => (held.untilMs = clock.monotonicMs() + METADATA_MS),
      () => (held.untilMs = clock.monotonicMs() + FAILURE_PAUSE_MS),
    );
  }
}

interface AuthorizationRequest {
  readonly values: SignInValues;
  readonly redirectUri: string;
}

/** Where the browser is sent. */
export async function authorizationUrl(
  { issuer, metadata }: AuthorizationServer,
  { values: { state, nonce, verifier }, redirectUri }: AuthorizationRequest,
): Promise<string> {
  const url = new URL(metadata.authorization_endpoint!);
  const { scopes_supported: supported } = metadata;
  const scopes = Array.isArray(supported) ? SCOPES.filter((scope) => supported.includes(scope)) : DEFAULT_SCOPES;
  const parameters = {
    response_type: 'code',
    client_id: issuer.clientId,
    redirect_uri: redirectUri,
    scope: ['openid', ...scopes].join(' '),
    state,
    nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/** The ID token for the code in the callback's parameters. Rejects when the issuer refused, or state or nonce differ. */
export async function exchangeCode(
  deps: IssuerHttpDeps,
  {
    server,
    values: { state, nonce, verifier },
    redirectUri,
  }: AuthorizationRequest & { readonly server: AuthorizationServer },
  callback: URLSearchParams,
): Promise<string> {
  const { issuer, metadata } = server;
  const client: oauth.Client = { client_id: issuer.clientId, [oauth.clockTolerance]: Number.MAX_SAFE_INTEGER };
  const parameters = oauth.validateAuthResponse(metadata, client, callback, state);
  const authentication = await clientAuthentication(server);
  const response = await oauth.authorizationCodeGrantRequest(
    metadata,
    client,
    authentication,
    parameters,
    redirectUri,
    verifier,
    { [oauth.customFetch]: (url, init) => fetchFrom(deps, issuer, { ...init, url, body: String(init.body) }) },
  );
  const result = await oauth.processAuthorizationCodeResponse(metadata, client, response, {
    expectedNonce: nonce,
    requireIdToken: true,
  });
  return result.id_token!;
}

async function clientAuthentication({ issuer, metadata }: AuthorizationServer): Promise<oauth.ClientAuth> {
  const secret = await issuer.clientSecret?.();
  if (secret === undefined) return oauth.None();
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  return methods.includes('client_secret_basic') ? oauth.ClientSecretBasic(secret) : oauth.ClientSecretPost(secret);
}

async function discover(deps: IssuerHttpDeps, issuer: SignInIssuer): Promise<oauth.AuthorizationServer> {
  const { issuerUrl, discoveryUrl } = issuer;
  const url = discoveryUrl ?? `${issuerUrl.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const headers = { accept: 'application/json' };
  const response = await fetchFrom(deps, issuer, { method: 'GET', url, headers });
  const metadata = await oauth.processDiscoveryResponse(new URL(issuerUrl), response);
  for (const name of ['authorization_endpoint', 'token_endpoint'] as const)
    if (!isHttps(metadata[name] ?? '')) throw new Error(`${name} of the discovery document is not an https URL`);
  return metadata;
}

interface Exchange {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

/** A redirect is an error: endpoints are those that the discovery document names. */
function fetchFrom(deps: IssuerHttpDeps, { caPem }: SignInIssuer, call: Exchange): Promise<Response> {
  const tls = caPem === undefined ? undefined : { caPem };
  return requestIssuer(deps, { ...call, tls }, async (answer) => {
    const { status, headers } = answer;
    if (status !== 200 && status < 400) {
      answer.cancel();
      throw new Error(`${call.url} answers with ${status}`);
    }
    return new Response(await issuerText(answer, call.url), { status, headers });
  });
}
