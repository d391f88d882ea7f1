/**
 * OpenID Connect: ID tokens of one issuer. Keys are discovered at the first token, and again for a token with an
 * unknown key. Groups kept elsewhere are fetched from there (distributed claims). Upstream:
 * plugin/pkg/authenticator/token/oidc.
 *
 * jose is loaded at the first token.
 */
import type { JWTPayload } from 'jose';
import { Lru } from '../../base/lru.ts';
import { unauthorized } from '../../api/status-error.ts';
import { dateOf } from '../../api/time.ts';
import type { Principal } from '../../api/transport.ts';
import type { Clock } from '../../platform/clock.ts';
import type { HttpAnswer } from '../../platform/net.ts';
import type { OidcOptions } from '../options/oidc-options.ts';
import type { TokenAuthenticator } from './bearer-token.ts';
import type { ClaimExpressions } from './claim-expressions.ts';
import { AUTHENTICATED_GROUP } from './client-certificate.ts';
import { withDistributed } from './distributed-claims.ts';
import { isHttps, issuerText, type IssuerHttpDeps, requestIssuer } from './issuer-http.ts';

/** How tokens are checked; the authority file has been read. */
export type OidcConfig = Omit<OidcOptions, 'caFile' | 'clientId'> & {
  /** A token's audience must be one of these. */
  readonly clientId: string | readonly string[];
  readonly caPem?: string;
  /** The URL of the discovery document, unless it is below the issuer's URL. */
  readonly discoveryUrl?: string;
  readonly uidClaim?: string;
  /** Claims that are mapped by expressions. */
  readonly expressions?: ClaimExpressions;
};

/** The shortest interval between two requests for keys, whether or not the issuer answered. */
const KEYS_PAUSE_MS = 10_000;
/** How many issuers' keys are cached for distributed claims. */
const MAX_ISSUERS = 16;

/** Undefined for tokens of other issuers; rejects with 401 for invalid tokens of this one. */
export function createOidcAuthenticator(deps: IssuerHttpDeps, config: OidcConfig): TokenAuthenticator {
  const fetch = fetcherOf(deps, config.caPem);
  const sources = new Lru<string, KeySource>(MAX_ISSUERS);
  const keysOf = (issuerUrl: string, discoveryUrl?: string): KeySource => {
    const cached = sources.get(issuerUrl);
    if (cached !== undefined) return cached;
    const keys = keySource(deps.clock, fetch, { issuerUrl, discoveryUrl });
    sources.set(issuerUrl, keys);
    return keys;
  };
  return {
    async authenticateToken(token) {
      const jose = await import('jose');
      if (issuerOf(jose, token) !== config.issuerUrl) return undefined;
      const verifyToken = (text: string, issuerUrl: string, keys: KeySource): Promise<JWTPayload> =>
        verify(text, { jose, keys, config: { ...config, issuerUrl }, nowMs: deps.clock.nowMs() });
      try {
        const claims = await verifyToken(token, config.issuerUrl, keysOf(config.issuerUrl, config.discoveryUrl));
        const whole = await withDistributed(claims, config.groupsClaim, async ({ endpoint, accessToken }) => {
          const text = (await fetch(endpoint, accessToken)).trim();
          const issuerUrl = issuerOf(jose, text) ?? '';
          if (!isHttps(issuerUrl)) throw new Error('issuer of a distributed claim is not an https URL');
          return verifyToken(text, issuerUrl, keysOf(issuerUrl));
        });
        return principalOf(whole, config);
      } catch (error) {
        throw unauthorized(`oidc: ${(error as Error).message}`);
      }
    },
  };
}

type Jose = typeof import('jose');
type KeySet = ReturnType<Jose['createLocalJWKSet']>;

function issuerOf(jose: Jose, token: string): string | undefined {
  try {
    return jose.decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

/** The keys of an issuer. `anew`: the token's key was missing, so fetch again. */
type KeySource = (jose: Jose, anew: boolean) => Promise<KeySet>;

/** Fetches a text, with the token as bearer token if given. */
type Fetch = (url: string, token?: string) => Promise<string>;

interface Verifying {
  readonly jose: Jose;
  readonly keys: KeySource;
  readonly config: OidcConfig;
  readonly nowMs: number;
}

async function verify(token: string, { jose, keys, config, nowMs }: Verifying): Promise<JWTPayload> {
  const options = {
    issuer: config.issuerUrl,
    audience: [config.clientId].flat(),
    algorithms: [...config.signingAlgorithms],
    currentDate: dateOf(nowMs),
    requiredClaims: ['exp'],
  };
  const using = await keys(jose, false);
  try {
    return (await jose.jwtVerify(token, using, options)).payload;
  } catch (error) {
    if (!(error instanceof jose.errors.JWKSNoMatchingKey)) throw error;
    return (await jose.jwtVerify(token, await keys(jose, true), options)).payload;
  }
}

function fetcherOf(deps: IssuerHttpDeps, caPem: string | undefined): Fetch {
  return (url, token) =>
    requestIssuer(
      deps,
      {
        method: 'GET',
        url,
        headers: { accept: 'application/json', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
        tls: caPem === undefined ? undefined : { caPem },
      },
      (answer) => textOf(answer, url),
    );
}

async function textOf(answer: HttpAnswer, url: string): Promise<string> {
  if (answer.status !== 200) {
    answer.cancel();
    throw new Error(`${url} answers with ${answer.status}`);
  }
  return await issuerText(answer, url);
}

interface IssuerPlace {
  readonly issuerUrl: string;
  readonly discoveryUrl: string | undefined;
}

function keySource(clock: Clock, fetch: Fetch, { issuerUrl, discoveryUrl }: IssuerPlace): KeySource {
  /** `sinceMs` is infinite while a request is in progress. */
  let held: { readonly keys: Promise<KeySet>; readonly sinceMs: number } | undefined;
  let loaded: KeySet | undefined;
  const get = async (url: string): Promise<Record<string, unknown>> => {
    const document: unknown = JSON.parse(await fetch(url));
    if (typeof document !== 'object' || document === null) throw new Error(`${url} answers with no JSON object`);
    return document as Record<string, unknown>;
  };
  const load = async (jose: Jose): Promise<KeySet> => {
    const discovered = await get(discoveryUrl ?? `${issuerUrl.replace(/\/$/, '')}/.well-known/openid-configuration`);
    if (discovered['issuer'] !== issuerUrl)
      throw new Error(
        `issuer did not match the issuer returned by provider, expected ${JSON.stringify(issuerUrl)} got ${JSON.stringify(discovered['issuer'])}`,
      );
    return jose.createLocalJWKSet((await get(String(discovered['jwks_uri']))) as never);
  };
  return (jose, anew) => {
    const nowMs = clock.monotonicMs();
    // A caller that needs no new key does not wait: a slow issuer would hold up all requests.
    if (loaded !== undefined && !anew) return Promise.resolve(loaded);
    if (held === undefined || nowMs - held.sinceMs >= KEYS_PAUSE_MS) {
      const keys = load(jose);
      held = { keys, sinceMs: Infinity };
      // The interval starts at the response or failure. After a failure the last keys stay in use; without any,
      // tokens are refused with the same error until the interval is over.
      const settle = (): void => {
        held = { keys: loaded === undefined ? keys : Promise.resolve(loaded), sinceMs: clock.monotonicMs() };
      };
      keys.then((set) => {
        loaded = set;
        settle();
      }, settle);
    }
    return held.keys;
  };
}

function principalOf(claims: JWTPayload, config: OidcConfig): Principal {
  const { expressions, uidClaim } = config;
  const name = expressions?.username?.(claims) ?? nameOf(claims, config);
  if (name === '') throw new Error('the username is empty');
  const groups = expressions?.groups?.(claims) ?? groupsOf(claims, config);
  const uid = expressions?.uid?.(claims) ?? (uidClaim === undefined ? '' : textClaim(claims, uidClaim));
  checkRequired(claims, config.requiredClaims);
  expressions?.checkClaims(claims);
  const extra = {
    ...(claims.jti === undefined ? {} : { 'authentication.kubernetes.io/credential-id': [`JTI=${claims.jti}`] }),
    ...expressions?.extra(claims),
  };
  const user: Principal = {
    name,
    uid: uid === '' ? undefined : uid,
    groups: [...groups],
    extra: Object.keys(extra).length > 0 ? extra : undefined,
  };
  expressions?.checkUser(user);
  return { ...user, groups: [...new Set([...groups, AUTHENTICATED_GROUP])] };
}

function nameOf(claims: JWTPayload, { usernameClaim, usernamePrefix }: OidcConfig): string {
  const name = claims[usernameClaim];
  if (typeof name !== 'string' || name === '')
    throw new Error(`parse username claims ${JSON.stringify(usernameClaim)}: claim not present`);
  if (usernameClaim === 'email' && Object.hasOwn(claims, 'email_verified') && claims['email_verified'] !== true)
    throw new Error('email not verified');
  return usernamePrefix + name;
}

function groupsOf(claims: JWTPayload, { groupsClaim, groupsPrefix }: OidcConfig): string[] {
  const claimed = groupsClaim === undefined ? [] : [claims[groupsClaim] ?? []].flat();
  return claimed.filter((group) => typeof group === 'string').map((group) => groupsPrefix + group);
}

function textClaim(claims: JWTPayload, name: string): string {
  const value = claims[name];
  if (typeof value !== 'string') throw new Error(`uid claim ${JSON.stringify(name)} not present`);
  return value;
}

function checkRequired(claims: JWTPayload, required: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(required)) {
    if (claims[key] === undefined) throw new Error(`required claim ${key} not present in ID token`);
    if (claims[key] !== value)
      throw new Error(`required claim ${key} value does not match. Got = ${String(claims[key])}, want = ${value}`);
  }
}
