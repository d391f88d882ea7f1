/**
 * Service-account tokens: JWTs signed by the cluster's key, bound to an account and optionally to a pod, node or
 * secret, and checked against the current objects: a token becomes invalid with its bound object. The first key
 * signs; all keys verify, so that keys can be rotated. Upstream: pkg/serviceaccount (claims, jwt, openidmetadata).
 */
import { quotedList } from '../../component-helpers/rbac/rule-text.ts';
import type { Secret, ServiceAccount } from '../../api/gen/core-v1.ts';
import { unauthorized } from '../../api/status-error.ts';
import type { Principal } from '../../api/transport.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { Random } from '../../platform/random.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { TokenAuthenticator } from './bearer-token.ts';
import { accountUser, type Claims, LEEWAY_SECONDS, principalOf, type Reference } from './bound-token-claims.ts';
import { decodeJwt, exportJwk, isSignedBy, verifyTimes, signJwt } from './jwt.ts';
import { LEGACY_ISSUER, legacyClaims, legacyPrincipal } from './legacy-token.ts';
import { lazyKeys, type LoadedKey, signingKey, type TokenKey } from './token-keys.ts';

export interface TokenDeps {
  readonly platform: Pick<BasePlatform, 'clock' | 'random' | 'crypto'>;
  /** Reads the accounts and bound objects. */
  readonly objects: () => ObjectStore;
}

export interface TokenConfig {
  readonly issuer: string;
  /** Further accepted issuers, for a transition between issuers. */
  readonly acceptedIssuers?: readonly string[];
  /** The audiences that the API server accepts; the first is the default of a token request. */
  readonly audiences: readonly string[];
  readonly keys: readonly TokenKey[];
  /** The maximum lifetime of tokens. */
  readonly maxExpirationSeconds?: number;
  /** Whether pods' tokens stay valid for a year, for programs that read them only once. Default: yes. */
  readonly extendsExpiration?: boolean;
  /**
   * Whether tokens in secrets are looked up; false: they stay valid whatever happened to secret and account. Others
   * are always looked up, as upstream.
   */
  readonly lookup?: boolean;
}

/** The properties of a requested token. */
export interface TokenRequestInput {
  readonly namespace: string;
  readonly account: ServiceAccount;
  readonly audiences?: readonly string[];
  readonly expirationSeconds: number;
  /** `node`: the node of a bound pod. */
  readonly bound?: Reference & {
    readonly kind: string;
    readonly node?: { readonly name: string; readonly uid?: string };
  };
}

/** A token as its requester gets it. */
export interface SignedToken {
  readonly token: string;
  /** When the requester should renew it. */
  readonly expiresAtMs: number;
  /** The granted lifetime, which may be shorter than requested. */
  readonly expirationSeconds: number;
  /** The audiences requested, or the API server's own. */
  readonly audiences: readonly string[];
}

/** Issues and checks service-account tokens. */
export interface ServiceAccountTokens extends TokenAuthenticator {
  issue(input: TokenRequestInput): Promise<SignedToken>;
  /** A token without expiry, to be stored in this secret and valid while it exists. */
  issueLegacy(account: ServiceAccount, secret: Secret): Promise<string>;
  /** The API server's own audiences, the default of a check. */
  readonly audiences: readonly string[];
  /** Checks a token for `audiences` (TokenReview). Undefined for tokens of other issuers. */
  review(
    token: string,
    audiences: readonly string[],
  ): Promise<{ readonly principal: Principal; readonly audiences: readonly string[] } | undefined>;
  /** The public keys as a JSON Web Key Set, for OIDC discovery. */
  keySet(): Promise<{ readonly keys: readonly { readonly alg: string }[] }>;
}

/** The lifetime that projected pod tokens request; other clients do not request exactly this one. */
const POD_TOKEN_SECONDS = 3607;
const EXTENSION_SECONDS = 365 * 24 * 60 * 60;

/** Creates the issuer and checker. */
export function createServiceAccountTokens(deps: TokenDeps, config: TokenConfig): ServiceAccountTokens {
  const { crypto } = deps.platform;
  const keys = lazyKeys(deps.platform.crypto, config.keys);
  const nowSeconds = (): number => Math.floor(deps.platform.clock.nowMs() / 1000);
  const issuers = [config.issuer, ...(config.acceptedIssuers ?? []), LEGACY_ISSUER];
  const review: ServiceAccountTokens['review'] = async (token, audiences) => {
    const claims = await verifyClaims(token, { crypto, keys, issuers, nowSeconds: nowSeconds() });
    if (claims === undefined) return undefined;
    const living = { objects: deps.objects(), nowMs: deps.platform.clock.nowMs() };
    if (claims.iss === LEGACY_ISSUER) {
      const found = config.lookup === false ? undefined : living;
      return { principal: await legacyPrincipal(claims, token, found), audiences: legacyAudiences(audiences) };
    }
    const requested = new Set(audiences);
    const granted = [claims.aud ?? []].flat().filter((audience) => requested.has(audience));
    if (granted.length === 0)
      throw unauthorized(
        `token audiences ${quotedList([claims.aud ?? []].flat())} is invalid for the target audiences ${quotedList(audiences)}`,
      );
    return { principal: await principalOf(claims, living), audiences: granted };
  };
  /** A token without an audience is for the API server only. */
  const legacyAudiences = (requested: readonly string[]): readonly string[] => {
    const granted = config.audiences.filter((audience) => requested.includes(audience));
    if (granted.length > 0) return granted;
    throw unauthorized(`token audiences [] is invalid for the target audiences ${quotedList(requested)}`);
  };
  return {
    audiences: config.audiences,
    review,
    async authenticateToken(token) {
      return (await review(token, config.audiences))?.principal;
    },
    issue: (input) => issueToken(input, { ...deps.platform, config, keys, nowSeconds: nowSeconds() }),
    async issueLegacy(account, secret) {
      return await signJwt(crypto.webcrypto.subtle, await signingKey(keys), legacyClaims(account, secret));
    },
    async keySet() {
      const { subtle } = crypto.webcrypto;
      const described = (await keys()).map(async ({ verify, id, algorithm }) => ({
        ...(await exportJwk(subtle, verify)),
        kid: id,
        alg: algorithm,
        use: 'sig',
      }));
      return { keys: await Promise.all(described) };
    },
  };
}

/** The keys and settings that signing and checking share. */
interface Signing {
  readonly crypto: CryptoPort;
  readonly keys: () => Promise<readonly LoadedKey[]>;
  readonly nowSeconds: number;
}

async function issueToken(
  input: TokenRequestInput,
  using: Signing & { readonly random: Random; readonly config: TokenConfig },
): Promise<SignedToken> {
  const key = await signingKey(using.keys);
  const { name, uid } = input.account.metadata;
  const bound = input.bound;
  const details = {
    namespace: input.namespace,
    serviceaccount: { name, uid },
    ...(bound === undefined ? {} : { [bound.kind.toLowerCase()]: { name: bound.name, uid: bound.uid } }),
    ...(bound?.node === undefined ? {} : { node: bound.node }),
  };
  const { maxExpirationSeconds = Infinity } = using.config;
  const requested = Math.min(input.expirationSeconds, maxExpirationSeconds);
  const audiences =
    input.audiences !== undefined && input.audiences.length > 0 ? [...input.audiences] : [...using.config.audiences];
  const extended = isExtended(input, { config: using.config, audiences });
  const token = await signJwt(using.crypto.webcrypto.subtle, key, {
    'kubernetes.io': { ...details, ...(extended && { warnafter: using.nowSeconds + requested }) },
    iss: using.config.issuer,
    sub: accountUser(input.namespace, name ?? ''),
    aud: audiences,
    iat: using.nowSeconds,
    nbf: using.nowSeconds,
    exp: using.nowSeconds + (extended ? Math.min(EXTENSION_SECONDS, maxExpirationSeconds) : requested),
    jti: using.random.uuid(),
  });
  return { token, expiresAtMs: (using.nowSeconds + requested) * 1000, expirationSeconds: requested, audiences };
}

/** Whether the token's lifetime is extended: pods' own tokens for this API, unless disabled. */
function isExtended(
  { bound, expirationSeconds }: TokenRequestInput,
  { config, audiences }: { readonly config: TokenConfig; readonly audiences: readonly string[] },
): boolean {
  if (config.extendsExpiration === false || bound?.kind !== 'Pod' || expirationSeconds !== POD_TOKEN_SECONDS)
    return false;
  return audiences.every((audience) => config.audiences.includes(audience));
}

async function verifyClaims(
  token: string,
  using: Signing & { readonly issuers: readonly string[] },
): Promise<Claims | undefined> {
  const decoded = decodeJwt(token);
  if (decoded === undefined || !using.issuers.includes(decoded.claims.iss ?? '')) return undefined;
  const { header, claims } = decoded;
  const all = await using.keys();
  const { subtle } = using.crypto.webcrypto;
  for (const key of all.some(({ id }) => id === header.kid) ? all.filter(({ id }) => id === header.kid) : all) {
    if (!(await isSignedBy(subtle, key, token))) continue;
    const times = verifyTimes(claims, { nowSeconds: using.nowSeconds, leewaySeconds: LEEWAY_SECONDS });
    if (times === 'valid') return claims as Claims;
    if (times === 'expired') throw unauthorized('service account token has expired');
    if (times === 'not yet') throw unauthorized('service account token is not valid yet');
  }
  throw unauthorized('invalid bearer token');
}
