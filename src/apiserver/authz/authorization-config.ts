/**
 * AuthorizationConfiguration: authorizers in order, with any number of webhooks. Upstream: `--authorization-config`,
 * apis/apiserver/v1 and its validation. Differs: webhooks in the cluster itself (`InClusterConfig`) are refused.
 */
import { shown } from '../../base/shown.ts';
import { objectAt } from '../config-values.ts';
import { type JsonObject, refuseUnknownFields } from '../../api/codec/own-property.ts';
import { parseDurationMs } from '../../api/duration.ts';
import { isDns1123Subdomain } from '../../api/names.ts';
import { AUTHORIZATION_MODES, type AuthorizationMode } from '../options/authorization-options.ts';

/** A webhook of the configuration. */
export interface ConfiguredWebhook {
  readonly type: 'Webhook';
  readonly name: string;
  readonly kubeConfigFile: string;
  /** The version of SubjectAccessReview that is sent. */
  readonly version: 'v1beta1' | 'v1';
  /** How long an allowing answer is cached; 0: not at all. */
  readonly allowedMs: number;
  readonly deniedMs: number;
  readonly timeoutMs: number;
  /** The decision when the webhook does not answer or a condition fails. */
  readonly onFailure: 'deny' | 'noOpinion';
  /** Expressions that must be true for the webhook to be called. */
  readonly conditions: readonly string[];
}

/** An authorizer of the configuration. */
export type ConfiguredAuthorizer =
  | ConfiguredWebhook
  | { readonly type: Exclude<AuthorizationMode, 'Webhook'>; readonly name: string };

const versions = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `apiserver.config.k8s.io/${version}`);
const AUTHORIZED_TTL_MS = 300_000;
const UNAUTHORIZED_TTL_MS = 30_000;
const LONGEST_TIMEOUT_MS = 30_000;

/** Checks a decoded configuration. Throws an Error that names the mistake. */
export function readAuthorizationConfig(value: unknown): readonly ConfiguredAuthorizer[] {
  const { apiVersion, kind, authorizers } = objectAt(value, 'the configuration');
  if (!versions.includes(shown(apiVersion)) || kind !== 'AuthorizationConfiguration')
    throw new Error(`${shown(apiVersion)} ${shown(kind)} is not ${versions[0]} AuthorizationConfiguration`);
  refuseUnknownFields(value as JsonObject, ['apiVersion', 'kind', 'authorizers'], '');
  if (!Array.isArray(authorizers) || authorizers.length === 0)
    throw new Error('authorizers: Required value: at least one authorization mode must be defined');
  const read = authorizers.map((one, index) => authorizerOf(one, `authorizers[${index}]`));
  for (const [index, { type, name }] of read.entries()) {
    const before = read.slice(0, index);
    if (before.some((other) => other.name === name))
      throw new Error(`authorizers[${index}].name: Duplicate value: ${JSON.stringify(name)}`);
    if (type !== 'Webhook' && before.some((other) => other.type === type))
      throw new Error(`authorizers[${index}].type: Duplicate value: ${JSON.stringify(type)}`);
  }
  return read;
}

function authorizerOf(value: unknown, place: string): ConfiguredAuthorizer {
  const { type, name, webhook } = objectAt(value, place, ['type', 'name', 'webhook']);
  const authorizerType = AUTHORIZATION_MODES.find((mode) => mode === type);
  if (authorizerType === undefined)
    throw new Error(
      `${place}.type: Unsupported value: ${JSON.stringify(type ?? '')}: supported values: ${AUTHORIZATION_MODES.map((mode) => JSON.stringify(mode)).join(', ')}`,
    );
  if (typeof name !== 'string' || name === '') throw new Error(`${place}.name: Required value`);
  const [problem] = isDns1123Subdomain(name);
  if (problem !== undefined)
    throw new Error(`${place}.name: Invalid value: ${JSON.stringify(name)}: authorizer name is invalid: ${problem}`);
  if (authorizerType === 'Webhook') return webhookOf(webhook, name, `${place}.webhook`);
  if (webhook !== undefined)
    throw new Error(`${place}.webhook: Invalid value: "non-null": webhook may only be specified when type=Webhook`);
  return { type: authorizerType, name };
}

const WEBHOOK_FIELDS = [
  'authorizedTTL',
  'cacheAuthorizedRequests',
  'unauthorizedTTL',
  'cacheUnauthorizedRequests',
  'timeout',
  'subjectAccessReviewVersion',
  'matchConditionSubjectAccessReviewVersion',
  'failurePolicy',
  'connectionInfo',
  'matchConditions',
];

function webhookOf(value: unknown, name: string, place: string): ConfiguredWebhook {
  const own = objectAt(value, place, WEBHOOK_FIELDS);
  const { failurePolicy, subjectAccessReviewVersion, matchConditionSubjectAccessReviewVersion } = own;
  const { type, kubeConfigFile } = objectAt(own['connectionInfo'], `${place}.connectionInfo`, [
    'type',
    'kubeConfigFile',
  ]);
  const one = (field: string, configured: unknown, supported: readonly string[]): void => {
    if (configured === undefined || configured === '') throw new Error(`${place}.${field}: Required value`);
    if (!supported.includes(String(configured)))
      throw new Error(
        `${place}.${field}: Unsupported value: ${JSON.stringify(configured)}: supported values: ${supported.map((text) => JSON.stringify(text)).join(', ')}`,
      );
  };
  one('failurePolicy', failurePolicy, ['Deny', 'NoOpinion']);
  one('subjectAccessReviewVersion', subjectAccessReviewVersion, ['v1', 'v1beta1']);
  one('connectionInfo.type', type, ['KubeConfigFile']);
  if (typeof kubeConfigFile !== 'string' || kubeConfigFile === '')
    throw new Error(`${place}.connectionInfo.kubeConfigFile: Required value`);
  const conditions = conditionsOf(own['matchConditions'], place);
  if (conditions.length > 0)
    one('matchConditionSubjectAccessReviewVersion', matchConditionSubjectAccessReviewVersion, ['v1']);
  return {
    type: 'Webhook',
    name,
    kubeConfigFile,
    version: subjectAccessReviewVersion === 'v1beta1' ? 'v1beta1' : 'v1',
    allowedMs:
      own['cacheAuthorizedRequests'] === false ? 0 : (durationAt(own, 'authorizedTTL', place) ?? AUTHORIZED_TTL_MS),
    deniedMs:
      own['cacheUnauthorizedRequests'] === false
        ? 0
        : (durationAt(own, 'unauthorizedTTL', place) ?? UNAUTHORIZED_TTL_MS),
    timeoutMs: timeoutOf(own, place),
    onFailure: failurePolicy === 'Deny' ? 'deny' : 'noOpinion',
    conditions,
  };
}

function timeoutOf(own: JsonObject, place: string): number {
  const timeoutMs = durationAt(own, 'timeout', place);
  if (timeoutMs === undefined) throw new Error(`${place}.timeout: Required value`);
  if (timeoutMs <= 0 || timeoutMs > LONGEST_TIMEOUT_MS)
    throw new Error(`${place}.timeout: Invalid value: ${JSON.stringify(own['timeout'])}: must be > 0s and <= 30s`);
  return timeoutMs;
}

function durationAt(own: JsonObject, field: string, place: string): number | undefined {
  const configured = own[field];
  if (configured === undefined) return undefined;
  const ms = typeof configured === 'string' ? parseDurationMs(configured) : undefined;
  if (ms === undefined || ms < 0)
    throw new Error(`${place}.${field}: Invalid value: ${JSON.stringify(configured)}: must be a duration such as 30s`);
  return ms;
}

function conditionsOf(value: unknown, place: string): string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new Error(`${place}.matchConditions is not a list`);
  return value.map((one, index) => {
    const { expression } = objectAt(one, `${place}.matchConditions[${index}]`, ['expression']);
    if (typeof expression !== 'string' || expression.trim() === '')
      throw new Error(`${place}.matchConditions[${index}].expression: Required value`);
    return expression;
  });
}
