/**
 * Authentication by client certificate or TokenReview, authorization by SubjectAccessReview. Upstream:
 * cmd/kubelet/app/auth.go with webhook token authenticator and authorizer.
 *
 * Results are cached for upstream's default times: tokens two minutes, allowed requests five minutes, denied ones
 * thirty seconds. Tokens are stored by their hash.
 */
import { Lru } from '../../base/lru.ts';
import { SubjectAccessReviews, TokenReviews } from '../../api/gen/resources.ts';
import type { Principal } from '../../api/transport.ts';
import type { Client } from '../../client/client.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { KubeletAuth } from './kubelet-auth.ts';

export interface DelegatedAuthDeps {
  readonly client: Client;
  readonly platform: Pick<BasePlatform, 'clock' | 'crypto'>;
}

/** Upstream's authentication and authorization sections of the kubelet's configuration. */
export interface DelegatedAuthConfig {
  readonly nodeName: string;
  /** Requests without credentials are `system:anonymous`. */
  readonly anonymous: boolean;
  /** Whether TokenReviews are sent. */
  readonly tokenWebhook: boolean;
  /** `AlwaysAllow` sends no SubjectAccessReview. */
  readonly authorizationMode: 'Webhook' | 'AlwaysAllow';
  /** Cache times: tokens (default two minutes), allowed (five minutes) and denied requests (thirty seconds). */
  readonly tokenTtlMs?: number;
  readonly allowedTtlMs?: number;
  readonly deniedTtlMs?: number;
}

const CACHE_SIZE = 1024;

interface Cached<T> {
  readonly value: T;
  readonly untilMs: number;
}

export function createDelegatedAuth(deps: DelegatedAuthDeps, config: DelegatedAuthConfig): KubeletAuth {
  const { clock, crypto } = deps.platform;
  const { tokenTtlMs = 120_000, allowedTtlMs = 300_000, deniedTtlMs = 30_000 } = config;
  const tokens = new Lru<string, Cached<Principal | undefined>>(CACHE_SIZE);
  const decisions = new Lru<string, Cached<boolean>>(CACHE_SIZE);

  async function principalOfToken(token: string): Promise<Principal | undefined> {
    const key = crypto.sha256Hex(token);
    const cached = tokens.get(key);
    if (cached !== undefined && clock.monotonicMs() < cached.untilMs) return cached.value;
    const review = await deps.client.resource(TokenReviews).create({ metadata: {}, spec: { token } });
    const { authenticated = false, user } = review.status ?? {};
    const value =
      authenticated && user !== undefined
        ? {
            name: user.username ?? '',
            groups: user.groups ?? [],
            uid: user.uid,
            extra: user.extra,
          }
        : undefined;
    tokens.set(key, { value, untilMs: clock.monotonicMs() + tokenTtlMs });
    return value;
  }

  return {
    async authenticate({ headers, peerCertificate, refusedCertificate }) {
      // As in the API server, a certificate without a common name does not authenticate.
      if (peerCertificate !== undefined && peerCertificate.commonName !== '')
        return { name: peerCertificate.commonName, groups: [...peerCertificate.organizations, 'system:authenticated'] };
      const token = /^bearer\s+(\S+)\s*$/i.exec(headers['authorization'] ?? '')?.[1];
      if (token !== undefined) return config.tokenWebhook ? principalOfToken(token) : undefined;
      return config.anonymous && refusedCertificate !== true
        ? { name: 'system:anonymous', groups: ['system:unauthenticated'] }
        : undefined;
    },
    async authorize(principal, verb, subresource) {
      if (config.authorizationMode === 'AlwaysAllow') return true;
      const { name: user, groups, uid, extra } = principal;
      const key = JSON.stringify([user, groups, uid, extra, verb, subresource]);
      const cached = decisions.get(key);
      if (cached !== undefined && clock.monotonicMs() < cached.untilMs) return cached.value;
      const review = await deps.client.resource(SubjectAccessReviews).create({
        metadata: {},
        spec: {
          user,
          groups: [...groups],
          uid,
          extra: extra && Object.fromEntries(Object.entries(extra).map(([name, values]) => [name, [...values]])),
          resourceAttributes: { verb, group: '', version: 'v1', resource: 'nodes', subresource, name: config.nodeName },
        },
      });
      const value = review.status?.allowed === true;
      decisions.set(key, { value, untilMs: clock.monotonicMs() + (value ? allowedTtlMs : deniedTtlMs) });
      return value;
    },
  };
}
