/** Authenticates tokens by a TokenReview webhook, with a cache. Upstream: plugin/pkg/authenticator/token/webhook. */
import { Lru } from '../../base/lru.ts';
import type { TokenReviewStatus, UserInfo } from '../../api/gen/authentication-v1.ts';
import { unauthorized } from '../../api/status-error.ts';
import type { Principal } from '../../api/transport.ts';
import type { Clock } from '../../platform/clock.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { WebhookClient } from '../webhook/webhook-client.ts';
import type { WebhookTarget } from '../webhook/webhook-target.ts';
import { reviewStatus } from '../webhook/review-answer.ts';
import type { TokenAuthenticator } from './bearer-token.ts';
import { AUTHENTICATED_GROUP } from './client-certificate.ts';

export interface WebhookTokenDeps {
  readonly client: WebhookClient;
  readonly target: WebhookTarget;
  readonly clock: Clock;
  readonly crypto: CryptoPort;
  /** The API server's audiences, one of which a token must have. */
  readonly audiences: readonly string[];
}

const CACHE_SIZE = 4096;
const TIMEOUT_MS = 30_000;
/** Answers with larger users are not cached: a webhook must not fill the memory. */
const MAX_KEPT_LENGTH = 64 * 1024;
const sizeOf = (principal: Principal | undefined): number => JSON.stringify(principal ?? '').length;

/** Rejects with 401 when the webhook refuses the token with a reason, or cannot be called. */
export function createWebhookTokenAuthenticator(
  deps: WebhookTokenDeps,
  { cacheMs, version }: { readonly cacheMs: number; readonly version: 'v1beta1' | 'v1' },
): TokenAuthenticator {
  const { clock, crypto } = deps;
  const cache = new Lru<string, { readonly principal: Principal | undefined; readonly untilMs: number }>(CACHE_SIZE);
  return {
    async authenticateToken(token) {
      const key = crypto.sha256Hex(token);
      const hit = cache.get(key);
      if (hit !== undefined && hit.untilMs > clock.monotonicMs()) return hit.principal;
      const { authenticated, user, error, audiences } = await postTokenReview(deps, version, token);
      if (authenticated !== true && (error ?? '') !== '') throw unauthorized(error);
      const isKnown = authenticated === true && isForUs(deps.audiences, audiences);
      const principal = isKnown && user !== undefined && user !== null ? principalOf(user) : undefined;
      if (sizeOf(principal) < MAX_KEPT_LENGTH) cache.set(key, { principal, untilMs: clock.monotonicMs() + cacheMs });
      return principal;
    },
  };
}

/**
 * Whether the token is for the API server. A webhook that ignores audiences names none, and its tokens are accepted.
 */
function isForUs(wanted: readonly string[], found: readonly string[] = []): boolean {
  const known = new Set(found);
  return known.size === 0 || wanted.some((audience) => known.has(audience));
}

async function postTokenReview(
  { client, target, audiences }: WebhookTokenDeps,
  version: string,
  token: string,
): Promise<TokenReviewStatus> {
  const apiVersion = `authentication.k8s.io/${version}`;
  const review = { apiVersion, kind: 'TokenReview', metadata: {}, spec: { token, audiences: [...audiences] } };
  const answer = await client.post(target, { body: review, timeoutMs: TIMEOUT_MS, sendTimeout: false });
  return reviewStatus(answer, review, 'authentication.v1.TokenReviewStatus');
}

function principalOf({ username = '', uid, groups, extra }: UserInfo): Principal {
  return {
    name: username,
    groups: [...new Set([...(groups ?? []), AUTHENTICATED_GROUP])],
    ...((uid ?? '') === '' ? {} : { uid: uid! }),
    ...((extra ?? undefined) === undefined ? {} : { extra: extra! }),
  };
}
