/**
 * Calls one webhook for one request: the part that mutating and validating webhooks share. Upstream: the callHook
 * functions of both dispatchers.
 */
import type { AdmissionResponse } from '../../../api/gen/admission-v1.ts';
import { StatusError } from '../../../api/status-error.ts';
import type { Log } from '../../../platform/log.ts';
import type { Random } from '../../../platform/random.ts';
import type { Span } from '../../../platform/tracing.ts';
import { isProgramError } from '../../../platform/unexpected.ts';
import type { WebhookClient } from '../../webhook/webhook-client.ts';
import type { WebhookTarget } from '../../webhook/webhook-target.ts';
import type { AdmissionAttributes } from '../contract.ts';
import { createReview, type ReviewedObjects, verifyReview } from './admission-review.ts';
import { CallingWebhookError, denial, dryRunUnsupported } from './denial.ts';
import type { Invocation, InvocationDeps } from './invocation.ts';
import type { MeasureWebhook } from './webhook-metrics.ts';

export interface WebhookAdmissionDeps extends InvocationDeps {
  readonly client: WebhookClient;
  readonly random: Random;
  readonly log: Log;
  readonly matchConditions: MatchConditions;
  readonly measure: MeasureWebhook;
}

/**
 * Evaluates match conditions. Resolves to whether all hold. Rejects with a StatusError when one fails and the webhook's
 * failurePolicy is Fail; with Ignore a failing condition is one that does not hold.
 */
export type MatchConditions = (invocation: Invocation, attributes: AdmissionAttributes) => Promise<boolean>;

const DEFAULT_TIMEOUT_SECONDS = 10;

export interface WebhookQuestion {
  readonly invocation: Invocation;
  readonly attributes: AdmissionAttributes;
  readonly reviewed: ReviewedObjects;
  readonly mutating: boolean;
}

/**
 * The response of a webhook that allows the request. Rejects with {@link CallingWebhookError} or the refusal's
 * `StatusError`.
 */
export function callWebhook(deps: WebhookAdmissionDeps, question: WebhookQuestion): Promise<AdmissionResponse> {
  const { hook } = question.invocation.webhook;
  const { operation } = question.attributes;
  return deps.measure(
    { name: hook.name, mutating: question.mutating, operation, failsOpen: hook.failurePolicy === 'Ignore' },
    () => postReview(deps, question),
  );
}

async function postReview(deps: WebhookAdmissionDeps, question: WebhookQuestion): Promise<AdmissionResponse> {
  const { invocation, attributes, mutating } = question;
  const { hook } = invocation.webhook;
  const { context, dryRun } = attributes;
  if (dryRun && hook.sideEffects !== 'None' && hook.sideEffects !== 'NoneOnDryRun') throw dryRunUnsupported(hook.name);
  if (!hook.admissionReviewVersions.includes('v1'))
    throw new CallingWebhookError(
      hook.name,
      `could not create admission objects: webhook does not accept known AdmissionReview versions (v1)`,
    );
  const uid = deps.random.uuid();
  const answer = await call(deps, question, { uid, target: targetOf(invocation), span: startSpan(question, uid) });
  let response: AdmissionResponse;
  try {
    response = verifyReview(answer, { uid, mutating });
  } catch (error) {
    if (isProgramError(error)) throw error;
    throw new CallingWebhookError(hook.name, `received invalid webhook response: ${(error as Error).message}`);
  }
  for (const text of response.warnings ?? []) context.addWarning(text);
  for (const [key, value] of Object.entries(response.auditAnnotations ?? {}))
    context.addAuditAnnotation(`${hook.name}/${key}`, String(value));
  if (response.allowed !== true) throw denial(hook.name, response.status);
  return response;
}

function targetOf({ webhook }: Invocation): WebhookTarget {
  try {
    return webhook.target();
  } catch (error) {
    const reason = `could not get REST client: ${(error as Error).message}`;
    throw new CallingWebhookError(webhook.hook.name, reason, { cause: error });
  }
}

/** As upstream's; undefined: the request is not traced. */
function startSpan({ invocation, attributes, mutating }: WebhookQuestion, uid: string): Span | undefined {
  const { resource, subresource, operation, context } = attributes;
  return context.trace?.span?.child(`Call ${mutating ? 'mutating' : 'validating'} webhook`, {
    attributes: {
      configuration: invocation.webhook.configuration,
      webhook: invocation.webhook.hook.name,
      resource: `${resource.group}/${resource.version}, Resource=${resource.resource}`,
      subresource,
      operation,
      UID: uid,
    },
  });
}

async function call(
  { client }: WebhookAdmissionDeps,
  { invocation, attributes, reviewed }: WebhookQuestion,
  { uid, target, span }: { uid: string; target: WebhookTarget; span: Span | undefined },
): ReturnType<WebhookClient['post']> {
  const { hook } = invocation.webhook;
  const { signal } = attributes.context;
  try {
    const answer = await client.post(target, {
      body: createReview(attributes, invocation, { uid, reviewed }),
      timeoutMs: (hook.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS) * 1000,
      signal,
      span,
    });
    span?.end();
    return answer;
  } catch (error) {
    span?.end(error);
    if (error instanceof StatusError) throw error;
    throw new CallingWebhookError(hook.name, `failed to call webhook: ${(error as Error).message}`, { cause: error });
  }
}

/** Whether a failed call is ignored; it is logged. */
export function failsOpen({ log }: WebhookAdmissionDeps, { webhook }: Invocation, error: unknown): boolean {
  if (!(error instanceof CallingWebhookError) || webhook.hook.failurePolicy !== 'Ignore') return false;
  log.warn('Failed calling webhook, failing open', { webhook: webhook.hook.name, reason: error.message });
  return true;
}
