/**
 * Answers a registry's challenge: Basic with the credentials, or Bearer with a token that its authorization server gives
 * for them, which is preferred. Upstream: containerd's remotes/docker/auth and authorizer.go. Differs: tokens are asked for by GET with Basic
 * credentials, which every authorization server takes, and by POST only for an identity token.
 */
import { Lru } from '../../base/lru.ts';
import { answerText } from '../../platform/answer-text.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Net } from '../../platform/net.ts';
import { parseChallenges, type Challenge } from './challenge.ts';
import type { RegistryAuth } from './mirror.ts';
import type { TlsFor } from './mirror-tls.ts';

export interface TokenDeps {
  readonly net: Pick<Net, 'http'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly tls: TlsFor;
  /** Whether the registry itself is asked over TLS: then credentials are sent in no other way. */
  readonly isSecure: boolean;
}

/** Who pulls what. */
export interface Pull {
  /** The repository's name at the mirror. */
  readonly repository: string;
  readonly auth: RegistryAuth | undefined;
  readonly signal: AbortSignal;
}

const MAX_TOKENS = 512;
const MAX_TOKEN_BYTES = 256 * 1024;
const TOKEN_TIMEOUT_MS = 30_000;
/** The time of tokens that do not say theirs, by the specification. */
const DEFAULT_LIFETIME_S = 60;
/** How long before its end a token is no longer used. */
const MARGIN_MS = 10_000;

export class RegistryTokens {
  readonly #deps: TokenDeps;
  /** By credentials and repository: one's token is never used for another's pull. */
  readonly #known = new Lru<string, { readonly header: string; readonly untilMs: number }>(MAX_TOKENS);

  constructor(deps: TokenDeps) {
    this.#deps = deps;
  }

  /** The `Authorization` that an earlier request needed. */
  known(pull: Pull): string | undefined {
    const entry = this.#known.get(keyOf(pull));
    return entry !== undefined && entry.untilMs > this.#deps.clock.monotonicMs() ? entry.header : undefined;
  }

  /** The `Authorization` for the challenge; undefined where the credentials are of no use for it. */
  async answer(header: string, pull: Pull): Promise<string | undefined> {
    const challenges = parseChallenges(header);
    const bearer = challenges.find(({ scheme }) => scheme === 'bearer');
    if (bearer !== undefined) return await this.#bearer(bearer, pull);
    const basic = basicOf(pull.auth);
    if (basic === undefined || !challenges.some(({ scheme }) => scheme === 'basic')) return undefined;
    this.#known.set(keyOf(pull), { header: basic, untilMs: Infinity });
    return basic;
  }

  async #bearer({ parameters }: Challenge, pull: Pull): Promise<string | undefined> {
    const realm = URL.canParse(parameters['realm'] ?? '') ? new URL(parameters['realm']!) : undefined;
    if (realm === undefined || !/^https?:$/.test(realm.protocol)) throw new Error('the registry names no realm');
    if (this.#deps.isSecure && realm.protocol !== 'https:')
      throw new Error(`the registry names an authorization server without TLS: ${realm.host}`);
    const scope = parameters['scope'] ?? `repository:${pull.repository}:pull`;
    const text = await this.#fetchToken(realm, { service: parameters['service'], scope }, pull);
    if (text === undefined) return undefined;
    const { token, lifetimeS } = readToken(text);
    const header = `Bearer ${token}`;
    const untilMs = this.#deps.clock.monotonicMs() + lifetimeS * 1000 - MARGIN_MS;
    this.#known.set(keyOf(pull), { header, untilMs });
    return header;
  }

  /** Undefined where the authorization server refuses the credentials. */
  async #fetchToken(
    realm: URL,
    { service, scope }: { readonly service: string | undefined; readonly scope: string },
    { auth, signal }: Pull,
  ): Promise<string | undefined> {
    const { net, tls } = this.#deps;
    const identity = basicOf(auth) === undefined ? auth?.identityToken : undefined;
    const fields = new URLSearchParams({ ...(service === undefined ? {} : { service }), scope });
    const common = { tls: await tls(realm), timeoutMs: TOKEN_TIMEOUT_MS, signal };
    let answer;
    if (identity === undefined) {
      for (const [name, value] of fields) realm.searchParams.append(name, value);
      const basic = basicOf(auth);
      const headers: Record<string, string> = basic === undefined ? {} : { authorization: basic };
      answer = await net.http({ ...common, method: 'GET', url: realm.href, headers });
    } else {
      const grant = { grant_type: 'refresh_token', client_id: 'keelson', refresh_token: identity };
      for (const [name, value] of Object.entries(grant)) fields.set(name, value);
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      answer = await net.http({ ...common, method: 'POST', url: realm.href, headers, body: fields.toString() });
    }
    if (answer.status === 200) return await answerText(answer, MAX_TOKEN_BYTES);
    answer.cancel();
    if (answer.status === 401 || answer.status === 403) return undefined;
    throw new Error(`the authorization server ${realm.host} answers ${answer.status}`);
  }
}

function keyOf({ repository, auth }: Pull): string {
  return JSON.stringify([repository, basicOf(auth), auth?.identityToken]);
}

/** The `Authorization` of a user with a password. */
function basicOf(auth: RegistryAuth | undefined): string | undefined {
  if (auth?.username !== undefined)
    return `Basic ${Buffer.from(`${auth.username}:${auth.password ?? ''}`).toString('base64')}`;
  return auth?.auth === undefined || auth.identityToken !== undefined ? undefined : `Basic ${auth.auth}`;
}

function readToken(text: string): { readonly token: string; readonly lifetimeS: number } {
  const answer = JSON.parse(text) as Partial<Record<string, unknown>> | null;
  const token = answer?.['token'] ?? answer?.['access_token'];
  if (typeof token !== 'string' || token === '') throw new Error('the authorization server gives no token');
  const lifetimeS = answer?.['expires_in'];
  return { token, lifetimeS: typeof lifetimeS === 'number' && lifetimeS > 0 ? lifetimeS : DEFAULT_LIFETIME_S };
}
