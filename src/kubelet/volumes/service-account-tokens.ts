/**
 * Tokens of service accounts, requested once per use and cached until their renewal. Upstream:
 * pkg/kubelet/token/token_manager.go (requiresRefresh), for projected tokens and CSI drivers.
 *
 * A token is renewed after 80 % of its life or 24 hours, whichever is first; if renewal fails it is used as long as
 * it is valid.
 */
import { secondsToMs } from '../../api/int64.ts';
import type { TokenRequest } from '../../api/gen/authentication-v1.ts';
import { parseTime } from '../../api/time.ts';
import type { BasePlatform } from '../../platform/platform.ts';

/** Requests a token of a service account from the API server (`serviceaccounts/token`). */
export type TokenRequester = (
  namespace: string,
  serviceAccount: string,
  request: TokenRequest,
) => Promise<TokenRequest>;

/** A token, and when to request the next. */
export interface ServiceAccountToken {
  readonly token: string;
  /** The time until `get` would request a new one. */
  readonly refreshAfterMs: number;
  /** Wall-clock time of its end. */
  readonly expiresAtMs: number;
}

/** Requests and caches tokens. */
export interface ServiceAccountTokens {
  /** A valid token. Rejects with the server's error when there is none. */
  get(namespace: string, serviceAccount: string, request: TokenRequest): Promise<ServiceAccountToken>;
  /** Removes the tokens bound to a service account or pod with this uid. */
  forget(boundUid: string): void;
}

const MAX_AGE_MS = 24 * 3_600_000;
const MAX_JITTER_MS = 10_000;
const RENEW_SHARE = 0.8;
const RETRY_AFTER_MS = 10_000;

interface CachedToken {
  readonly token: string;
  readonly boundUid: string;
  readonly expiresAtMs: number;
  readonly renewAtMs: number;
}

function tokenOf({ token, expiresAtMs }: CachedToken): Pick<ServiceAccountToken, 'token' | 'expiresAtMs'> {
  return { token, expiresAtMs };
}

export function createServiceAccountTokens(deps: {
  readonly platform: Pick<BasePlatform, 'clock' | 'random' | 'log'>;
  readonly requestToken: TokenRequester;
}): ServiceAccountTokens {
  const { clock, log } = deps.platform;
  const random = deps.platform.random.fork('token-manager');
  const cache = new Map<string, CachedToken>();

  async function requestToken(namespace: string, serviceAccount: string, request: TokenRequest): Promise<CachedToken> {
    const answer = await deps.requestToken(namespace, serviceAccount, request);
    const token = answer.status?.token;
    const expiresAtMs = parseTime(answer.status?.expirationTimestamp);
    if (token === undefined || Number.isNaN(expiresAtMs))
      throw new Error(
        `failed to fetch token: the answer for service account ${namespace}/${serviceAccount} has no token`,
      );
    const nowMs = clock.nowMs();
    const lifeMs =
      answer.spec?.expirationSeconds === undefined ? expiresAtMs - nowMs : secondsToMs(answer.spec.expirationSeconds);
    const renewAtMs =
      Math.min(expiresAtMs - lifeMs * (1 - RENEW_SHARE), nowMs + MAX_AGE_MS) - random.next() * MAX_JITTER_MS;
    return { token, expiresAtMs, renewAtMs, boundUid: request.spec?.boundObjectRef?.uid ?? '' };
  }

  return {
    async get(namespace, serviceAccount, request) {
      const key = JSON.stringify([namespace, serviceAccount, request.spec]);
      const old = cache.get(key);
      if (old !== undefined && clock.nowMs() < old.renewAtMs)
        return { ...tokenOf(old), refreshAfterMs: old.renewAtMs - clock.nowMs() };
      try {
        const fresh = await requestToken(namespace, serviceAccount, request);
        cache.set(key, fresh);
        return { ...tokenOf(fresh), refreshAfterMs: Math.max(RETRY_AFTER_MS, fresh.renewAtMs - clock.nowMs()) };
      } catch (error) {
        if (old === undefined || clock.nowMs() >= old.expiresAtMs) throw error;
        log.error("Couldn't update token", { serviceAccount: `${namespace}/${serviceAccount}`, err: error });
        return { ...tokenOf(old), refreshAfterMs: RETRY_AFTER_MS };
      }
    },
    forget(boundUid) {
      for (const [key, entry] of cache) if (entry.boundUid === boundUid) cache.delete(key);
    },
  };
}
