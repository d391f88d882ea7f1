/**
 * ValidatingAdmissionWebhook: calls all matching validating webhooks concurrently; the first refusal, in their order,
 * is returned. Upstream: admission/plugin/webhook/validating.
 */
import { ValidatingWebhookConfigurations } from '../../../api/gen/resources.ts';
import type { ResolveService } from '../../webhook/service-resolver.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { reviewedObjects, type ReviewedObjects } from './admission-review.ts';
import { callWebhook, failsOpen, type WebhookAdmissionDeps } from './call-webhook.ts';
import { webhookRefusal } from './denial.ts';
import { type Invocation, invocationOf } from './invocation.ts';
import { reviewObjects } from '../../admission-matching/review-objects.ts';
import { isAdmissionConfiguration } from '../../admission-matching/rules-matcher.ts';
import {
  type AnyConfiguration,
  type ConfiguredWebhook,
  followWebhooks,
  WEBHOOKS_PER_TURN,
} from './webhook-configurations.ts';
import type { ResourceInfo } from '../../../api/resource-info.ts';

export function createValidatingWebhooks(deps: WebhookAdmissionDeps, resolve: ResolveService): AdmissionPlugin {
  const info = ValidatingWebhookConfigurations as ResourceInfo<AnyConfiguration>;
  let webhooks: (() => readonly ConfiguredWebhook[]) | undefined;
  const current = (): readonly ConfiguredWebhook[] => (webhooks ??= followWebhooks(deps.objects(), info, resolve))();
  return {
    name: 'ValidatingAdmissionWebhook',
    handles: (_operation, resource) => !isAdmissionConfiguration(resource),
    isIdle: () => current().length === 0,
    validate: (attributes) => validate(deps, attributes, current()),
  };
}

interface DueWebhook {
  readonly invocation: Invocation;
  readonly reviewed: ReviewedObjects;
  readonly index: number;
}

async function validate(
  deps: WebhookAdmissionDeps,
  attributes: AdmissionAttributes,
  webhooks: readonly ConfiguredWebhook[],
): Promise<void> {
  const due: DueWebhook[] = [];
  for (const [index, webhook] of webhooks.entries()) {
    if (index % WEBHOOKS_PER_TURN === WEBHOOKS_PER_TURN - 1) await attributes.context.pause?.();
    const invocation = await invocationOf(webhook, attributes, deps);
    if (invocation === undefined) continue;
    const reviewed = await viewOf(invocation, attributes, due);
    const conditions = webhook.hook.matchConditions ?? [];
    if (conditions.length > 0 && !(await deps.matchConditions(invocation, attributes))) continue;
    due.push({ invocation, reviewed, index: due.length });
  }
  const results = await Promise.allSettled(due.map((one) => callValidatingHook(deps, attributes, one)));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/** The objects for a webhook, built once per version. */
async function viewOf(
  invocation: Invocation,
  attributes: AdmissionAttributes,
  others: readonly DueWebhook[],
): Promise<ReviewedObjects> {
  const same = others.find((other) => other.invocation.matched === invocation.matched);
  if (same !== undefined) return same.reviewed;
  return reviewedObjects(reviewObjects(invocation.requested, invocation.matched, attributes.subresource), attributes);
}

async function callValidatingHook(
  deps: WebhookAdmissionDeps,
  attributes: AdmissionAttributes,
  { invocation, reviewed, index }: DueWebhook,
): Promise<void> {
  try {
    await callWebhook(deps, { invocation, attributes, reviewed, mutating: false });
  } catch (error) {
    if (failsOpen(deps, invocation, error)) {
      attributes.context.addAuditAnnotation(
        `failed-open.validating.webhook.admission.k8s.io/round_0_index_${index}`,
        invocation.webhook.hook.name,
      );
      return;
    }
    throw webhookRefusal(error, invocation.webhook, false);
  }
}
