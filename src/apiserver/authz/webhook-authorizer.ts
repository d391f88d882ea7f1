/**
 * Authorizes by a SubjectAccessReview webhook and caches its answers. A webhook that cannot be called has no opinion,
 * so the next authorizer decides. Upstream: plugin/pkg/authorizer/webhook; there the failure becomes a 500 when
 * nobody else allows the request, here a 403 with the reason.
 */
import { Lru } from '../../base/lru.ts';
import type {
  ResourceAttributes,
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
} from '../../api/gen/authorization-v1.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { WebhookClient } from '../webhook/webhook-client.ts';
import type { WebhookTarget } from '../webhook/webhook-target.ts';
import { reviewStatus } from '../webhook/review-answer.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from './contract.ts';
import type { MatchesReview } from './webhook-conditions.ts';

export interface WebhookAuthorizerDeps {
  readonly client: WebhookClient;
  readonly target: WebhookTarget;
  readonly clock: Clock;
  readonly log: Log;
}

const CACHE_SIZE = 8192;
/** Longer requests and answers are not cached, so that clients cannot fill the memory. */
const MAX_KEY_LENGTH = 10_000;
const TIMEOUT_MS = 30_000;

const NOT_CONCERNED: AuthorizationDecision = { decision: 'noOpinion', reason: '' };

export interface WebhookAuthorizerConfig {
  /** How long an allowing answer is cached. */
  readonly allowedMs: number;
  readonly deniedMs: number;
  /** The version of SubjectAccessReview that is sent; default v1. */
  readonly version?: 'v1beta1' | 'v1';
  /** Default 30 s. */
  readonly timeoutMs?: number;
  /** The decision when the webhook does not answer; default `noOpinion`. */
  readonly onFailure?: 'deny' | 'noOpinion';
  /** Which requests the webhook is called for; it has no opinion on others. Default: all. */
  readonly concerns?: MatchesReview;
}

export function createWebhookAuthorizer(deps: WebhookAuthorizerDeps, config: WebhookAuthorizerConfig): Authorizer {
  const { clock, log } = deps;
  const cache = new Lru<string, { readonly verdict: AuthorizationDecision; readonly untilMs: number }>(CACHE_SIZE);
  const failed = (err: unknown): AuthorizationDecision => {
    log.error('Failed to make webhook authorizer request', { err });
    return {
      decision: config.onFailure ?? 'noOpinion',
      reason: `webhook authorizer: ${(err as Error).message}`,
    };
  };
  return {
    async authorize(attributes) {
      const spec = specOf(attributes);
      try {
        if (config.concerns?.(spec) === false) return NOT_CONCERNED;
      } catch (err) {
        return failed(err);
      }
      const key = JSON.stringify(spec);
      const hit = cache.get(key);
      if (hit !== undefined && hit.untilMs > clock.monotonicMs()) return hit.verdict;
      try {
        const verdict = verdictOf(await postSubjectAccessReview(deps, spec, config));
        const keepMs = verdict.decision === 'allow' ? config.allowedMs : config.deniedMs;
        if (Math.max(key.length, verdict.reason.length) < MAX_KEY_LENGTH)
          cache.set(key, { verdict, untilMs: clock.monotonicMs() + keepMs });
        return verdict;
      } catch (err) {
        return failed(err);
      }
    },
  };
}

async function postSubjectAccessReview(
  { client, target }: WebhookAuthorizerDeps,
  spec: SubjectAccessReviewSpec,
  { version = 'v1', timeoutMs = TIMEOUT_MS }: WebhookAuthorizerConfig,
): Promise<SubjectAccessReviewStatus> {
  const apiVersion = `authorization.k8s.io/${version}`;
  const { groups: group, ...rest } = spec;
  const reviewSpec = version === 'v1' ? spec : { ...rest, group };
  const review = { apiVersion, kind: 'SubjectAccessReview', metadata: {}, spec: reviewSpec };
  const answer = await client.post(target, { body: review, timeoutMs, sendTimeout: false });
  return reviewStatus(answer, review, 'authorization.v1.SubjectAccessReviewStatus');
}

function verdictOf({ allowed, denied, reason = '' }: SubjectAccessReviewStatus): AuthorizationDecision {
  if (allowed === true && denied === true)
    throw new Error(`webhook subject access review returned both allow and deny response`);
  return { decision: denied === true ? 'deny' : allowed === true ? 'allow' : 'noOpinion', reason };
}

/** Removes empty fields, as upstream's types do. */
function withoutEmptyFields(values: Record<string, string>): ResourceAttributes {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
}

function specOf(attributes: AuthorizationAttributes): SubjectAccessReviewSpec {
  const { user, verb, path } = attributes;
  const about = attributes.isResourceRequest
    ? {
        resourceAttributes: withoutEmptyFields({
          namespace: attributes.namespace,
          verb,
          group: attributes.apiGroup,
          version: attributes.apiVersion,
          resource: attributes.resource,
          subresource: attributes.subresource,
          name: attributes.name,
        }),
      }
    : { nonResourceAttributes: { path, verb } };
  return {
    ...about,
    user: user.name,
    groups: [...user.groups],
    uid: user.uid,
    extra: user.extra && Object.fromEntries(Object.entries(user.extra).map(([key, values]) => [key, [...values]])),
  };
}
