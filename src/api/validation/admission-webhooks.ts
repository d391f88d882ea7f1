/** Validation of webhook configurations. Upstream: apis/admissionregistration/validation. */
import type { Steps } from '../../base/steps.ts';
import { compileTogetherSteps } from '../cel/compile.ts';
import type { Field } from '../field-error.ts';
import type {
  MatchCondition,
  MutatingWebhookConfiguration,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from '../gen/admissionregistration-v1.ts';
import { isDns1123Subdomain, isQualifiedName } from '../names.ts';
import { conditionExpressions } from './admission-expressions.ts';
import { validateRule } from './admission-rules.ts';
import { validateOptionalChoice } from './common.ts';
import { KNOWN_REVIEW_VERSIONS, validateReviewVersions } from './review-versions.ts';
import { validateLabelSelector } from './selectors.ts';
import { validateWebhookClient } from './webhook-client.ts';

const SIDE_EFFECTS = ['None', 'NoneOnDryRun'];
const MAX_CONDITIONS = 64;
const WEBHOOKS_PER_STEP = 50;

/** Compiles one condition per step. `hasParams`: expressions may read a policy's parameters. */
export function* validateMatchConditions(
  conditions: readonly MatchCondition[],
  hasParams: boolean,
  field: Field,
): Steps<void> {
  if (conditions.length > MAX_CONDITIONS) field.tooMany(conditions.length, MAX_CONDITIONS);
  if (conditions.length === 0) return;
  const validateExpression = conditionExpressions({ hasParams, hasAuthorizer: true });
  const names = new Set<string>();
  for (const [index, { name = '', expression = '' }] of conditions.entries()) {
    const place = field.item(index);
    if (expression.trim() === '') place.at('expression').required();
    else validateExpression(expression.trim(), place.at('expression'));
    yield;
    if (name === '') {
      place.at('name').required();
      continue;
    }
    place.at('name').complain(name, isQualifiedName(name));
    if (names.has(name)) place.at('name').duplicate(name);
    names.add(name);
  }
}

type Webhook = ValidatingWebhook & { readonly reinvocationPolicy?: string };

function* validateWebhook(webhook: Webhook, field: Field): Steps<void> {
  validateFullName(webhook.name ?? '', field.at('name'));
  for (const [index, rule] of (webhook.rules ?? []).entries()) validateRule(rule, field.at('rules').item(index));
  validateOptionalChoice(webhook.failurePolicy, ['Fail', 'Ignore'], field.at('failurePolicy'));
  validateOptionalChoice(webhook.matchPolicy, ['Equivalent', 'Exact'], field.at('matchPolicy'));
  if (webhook.sideEffects === undefined)
    field.at('sideEffects').required(`must specify one of ${SIDE_EFFECTS.join(', ')}`);
  validateOptionalChoice(webhook.sideEffects, SIDE_EFFECTS, field.at('sideEffects'));
  const timeout = webhook.timeoutSeconds;
  if (timeout !== undefined && (timeout > 30 || timeout < 1))
    field.at('timeoutSeconds').invalid(timeout, 'the timeout value must be between 1 and 30 seconds');
  validateOptionalChoice(webhook.reinvocationPolicy, ['IfNeeded', 'Never'], field.at('reinvocationPolicy'));
  validateLabelSelector(webhook.namespaceSelector, field.at('namespaceSelector'));
  validateLabelSelector(webhook.objectSelector, field.at('objectSelector'));
  validateWebhookClient(webhook.clientConfig ?? {}, field.at('clientConfig'));
  yield* validateMatchConditions(webhook.matchConditions ?? [], false, field.at('matchConditions'));
}

function validateFullName(name: string, field: Field): void {
  if (name === '') return field.required();
  const problems = isDns1123Subdomain(name);
  if (problems.length > 0) field.invalid(name, problems.join(','));
  else if (name.split('.').length < 3)
    field.invalid(name, 'should be a domain with at least three segments separated by dots');
}

function* validateWebhooks(webhooks: readonly Webhook[], field: Field): Steps<void> {
  const names = new Set<string>();
  for (const [index, webhook] of webhooks.entries()) {
    const place = field.item(index);
    yield* validateWebhook(webhook, place);
    validateReviewVersions(
      webhook.admissionReviewVersions ?? [],
      place.at('admissionReviewVersions'),
      `must specify one of ${KNOWN_REVIEW_VERSIONS.join(', ')}`,
    );
    const { name = '' } = webhook;
    if (name !== '' && names.has(name)) place.at('name').duplicate(name);
    names.add(name);
    if (index % WEBHOOKS_PER_STEP === WEBHOOKS_PER_STEP - 1) yield;
  }
}

export function validateValidatingWebhookConfiguration(
  configuration: ValidatingWebhookConfiguration,
  field: Field,
): Steps<void> {
  return compileTogetherSteps(validateWebhooks(configuration.webhooks ?? [], field.at('webhooks')));
}

export function validateMutatingWebhookConfiguration(
  configuration: MutatingWebhookConfiguration,
  field: Field,
): Steps<void> {
  return compileTogetherSteps(validateWebhooks(configuration.webhooks ?? [], field.at('webhooks')));
}
