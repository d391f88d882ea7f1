/**
 * ImagePolicyWebhook: a webhook decides which images may run. Disabled by default; needs a configuration. Upstream:
 * plugin/pkg/admission/imagepolicy.
 */
import type { ImageReview, ImageReviewStatus } from '../../../api/gen/imagepolicy-v1alpha1.ts';
import type { Pod } from '../../../api/gen/core-v1.ts';
import { Lru } from '../../../base/lru.ts';
import type { Clock } from '../../../platform/clock.ts';
import { WebhookCallError, type WebhookClient } from '../../webhook/webhook-client.ts';
import { reviewStatus } from '../../webhook/review-answer.ts';
import type { WebhookTarget } from '../../webhook/webhook-target.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { refusal, podsOrEphemeralContainersWritten } from '../refusal.ts';

export interface ImagePolicyConfig {
  readonly target: WebhookTarget;
  /** How long an allowing answer is cached; 0: not at all. */
  readonly allowTtlMs: number;
  /** How long a denying answer is cached; 0: not at all. */
  readonly denyTtlMs: number;
  /** The pause before the second of up to five attempts; each further pause is half as long again. */
  readonly retryBackoffMs: number;
  /** The decision while the webhook cannot be reached. */
  readonly defaultAllow: boolean;
}

export interface ImagePolicyDeps {
  readonly client: Pick<WebhookClient, 'post'>;
  readonly clock: Clock;
}

interface CachedReview {
  readonly status: ImageReviewStatus;
  readonly untilMs: number;
}

const CACHE_SIZE = 1024;
const TIMEOUT_MS = 30_000;
const ATTEMPTS = 5;
const BACKOFF_FACTOR = 1.5;
const AUDIT_PREFIX = 'imagepolicywebhook.image-policy.k8s.io/';

/** Creates the plugin. Throws without a configuration. */
export function createImagePolicyWebhook(
  deps: ImagePolicyDeps,
  config: ImagePolicyConfig | undefined,
): AdmissionPlugin {
  if (config === undefined)
    throw new Error('ImagePolicyWebhook has no configuration: give it one by --admission-control-config-file');
  const { clock } = deps;
  const verdicts = new Lru<string, CachedReview>(CACHE_SIZE);
  const postReview = async (spec: ImageReview['spec'], signal: AbortSignal): Promise<ImageReviewStatus> => {
    const key = JSON.stringify(spec);
    const cached = verdicts.get(key);
    if (cached !== undefined && cached.untilMs > clock.monotonicMs()) return cached.status;
    const status = await postImageReview(deps, config, { spec, signal });
    const ttlMs = status.allowed ? config.allowTtlMs : config.denyTtlMs;
    if (ttlMs > 0) verdicts.set(key, { status, untilMs: clock.monotonicMs() + ttlMs });
    return status;
  };
  return {
    name: 'ImagePolicyWebhook',
    handles: podsOrEphemeralContainersWritten,
    async validate(attributes) {
      const { context } = attributes;
      let status: ImageReviewStatus;
      try {
        status = await postReview(reviewOf(attributes), context.signal);
      } catch (error) {
        if (!config.defaultAllow) throw refusal(attributes, (error as Error).message);
        context.addAuditAnnotation(`${AUDIT_PREFIX}failed-open`, 'true');
        return;
      }
      for (const [key, value] of Object.entries(status.auditAnnotations ?? {}))
        context.addAuditAnnotation(AUDIT_PREFIX + key, value);
      if (!status.allowed) throw refusal(attributes, refusalText(status));
    },
  };
}

function refusalText({ reason = '' }: ImageReviewStatus): string {
  if (reason === '') return 'one or more images rejected by webhook backend';
  return `image policy webhook backend denied one or more images: ${reason}`;
}

function reviewOf({ object, subresource, namespace }: AdmissionAttributes): ImageReview['spec'] {
  const { metadata, spec } = object as Pod;
  const chosen =
    subresource === 'ephemeralcontainers'
      ? (spec?.ephemeralContainers ?? [])
      : [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  const concerning = Object.entries(metadata.annotations ?? {}).filter(([key]) =>
    key.includes('.image-policy.k8s.io/'),
  );
  return {
    containers: chosen.map(({ image }) => (image === undefined ? {} : { image })),
    ...(concerning.length > 0 && { annotations: Object.fromEntries(concerning) }),
    namespace,
  };
}

/** Calls the webhook, with retries after transient errors. */
async function postImageReview(
  { client, clock }: ImagePolicyDeps,
  { target, retryBackoffMs }: ImagePolicyConfig,
  { spec, signal }: { readonly spec: ImageReview['spec']; readonly signal: AbortSignal },
): Promise<ImageReviewStatus> {
  const review: ImageReview = { apiVersion: 'imagepolicy.k8s.io/v1alpha1', kind: 'ImageReview', metadata: {}, spec };
  let delayMs = retryBackoffMs;
  for (let attempt = 1; ; attempt++) {
    try {
      const call = { body: review, timeoutMs: TIMEOUT_MS, sendTimeout: false, signal };
      const answer = await client.post(target, call);
      const status = reviewStatus<Partial<ImageReviewStatus>>(answer, review, 'imagepolicy.v1alpha1.ImageReviewStatus');
      return { allowed: false, ...status };
    } catch (error) {
      if (attempt >= ATTEMPTS || signal.aborted || !isPassing(error)) throw error;
    }
    await clock.sleep(delayMs, signal);
    delayMs *= BACKOFF_FACTOR;
  }
}

/** Whether the error is transient: broken connections, and servers that are temporarily unable to answer. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof WebhookCallError)) return false;
  const { status = 0, cause } = error;
  return status === 429 || status >= 500 || (cause as { code?: string } | undefined)?.code === 'ECONNRESET';
}
