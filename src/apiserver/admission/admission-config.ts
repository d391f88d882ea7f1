/** AdmissionConfiguration: what administrators set for single plugins. Upstream: `--admission-control-config-file`, apis/apiserver. */
import { shown } from '../../base/shown.ts';
import { listAt } from '../config-values.ts';
import { isObject, type JsonObject } from '../../api/codec/own-property.ts';
import { type EventLimit, LIMIT_TYPES } from './event-rate-limit/event-rate-limit.ts';
import type { WebhookTarget } from '../webhook/webhook-target.ts';
import type { ImagePolicyConfig } from './image-policy-webhook/image-policy-webhook.ts';
import type { AdmissionConfig } from './list.ts';
import { labelsOf } from './pod-node-selector/pod-node-selector.ts';
import type { PodSecurityConfig } from './pod-security/pod-security.ts';
import type { TolerationConfig } from './pod-toleration-restriction/pod-toleration-restriction.ts';
import { readLimitedResources } from './resource-quota/limited-resources.ts';
import { LEVELS, type LevelVersion, parseVersion, type Mode } from './pod-security/policy.ts';

/** Reads and decodes a file that another file names. */
export type ReadConfiguration = (path: string) => Promise<unknown>;

/** Creates the target of a webhook from a kubeconfig file. */
export type ReadTarget = (kubeconfigPath: string) => Promise<WebhookTarget>;

const CONFIGURABLE = [
  'ImagePolicyWebhook',
  'PodSecurity',
  'EventRateLimit',
  'PodNodeSelector',
  'PodTolerationRestriction',
  'ResourceQuota',
];

/** Checks a decoded AdmissionConfiguration. Rejects with an Error that names the mistake. */
export async function readAdmissionConfig(
  value: unknown,
  read: ReadConfiguration,
  target: ReadTarget,
): Promise<AdmissionConfig> {
  const { apiVersion, kind, plugins = [] } = objectAt(value, 'the configuration');
  if (apiVersion !== 'apiserver.config.k8s.io/v1' || kind !== 'AdmissionConfiguration')
    throw new Error(`${shown(apiVersion)} ${shown(kind)} is not apiserver.config.k8s.io/v1 AdmissionConfiguration`);
  let config: AdmissionConfig = {};
  for (const [index, plugin] of listAt(plugins, 'plugins').entries()) {
    const place = `plugins[${index}]`;
    const { name, path, configuration } = objectAt(plugin, place);
    const own = objectAt(
      typeof path === 'string' && path !== '' ? await read(path) : configuration,
      `${place}.configuration`,
    );
    if (name === 'PodSecurity') config = { ...config, podSecurity: podSecurityOf(own) };
    else if (name === 'EventRateLimit') config = { ...config, eventLimits: eventLimitsOf(own) };
    else if (name === 'PodNodeSelector') config = { ...config, nodeSelectors: nodeSelectorsOf(own) };
    else if (name === 'PodTolerationRestriction') config = { ...config, tolerations: tolerationsOf(own) };
    else if (name === 'ResourceQuota') config = { ...config, limitedResources: readLimitedResources(own) };
    else if (name === 'ImagePolicyWebhook') config = { ...config, imagePolicy: await imagePolicyOf(own, target) };
    else throw new Error(`${place}.name: ${shown(name)} takes no configuration here; ${CONFIGURABLE.join(', ')} do`);
  }
  return config;
}

function objectAt(value: unknown, place: string): JsonObject {
  if (!isObject(value)) throw new Error(`${place} is not an object`);
  return value;
}

function textsAt(value: unknown, place: string): string[] {
  return listAt(value ?? [], place).map(String);
}

function podSecurityOf(own: JsonObject): PodSecurityConfig {
  if (own['apiVersion'] !== 'pod-security.admission.config.k8s.io/v1' || own['kind'] !== 'PodSecurityConfiguration')
    throw new Error(
      `${shown(own['apiVersion'])} ${shown(own['kind'])} is not pod-security.admission.config.k8s.io/v1 PodSecurityConfiguration`,
    );
  const defaults = objectAt(own['defaults'] ?? {}, 'defaults');
  const exemptions = objectAt(own['exemptions'] ?? {}, 'exemptions');
  const levelOf = (mode: Mode): LevelVersion => {
    const level = LEVELS.find((one) => one === (defaults[mode] ?? 'privileged'));
    if (level === undefined)
      throw new Error(`defaults.${mode}: ${String(defaults[mode])} is none of ${LEVELS.join(', ')}`);
    const version = parseVersion(String(defaults[`${mode}-version`] ?? 'latest'));
    if (version === undefined) throw new Error(`defaults.${mode}-version: must be "latest" or "v1.x"`);
    return { level, version };
  };
  return {
    defaults: { enforce: levelOf('enforce'), audit: levelOf('audit'), warn: levelOf('warn') },
    exemptions: {
      usernames: textsAt(exemptions['usernames'], 'exemptions.usernames'),
      namespaces: textsAt(exemptions['namespaces'], 'exemptions.namespaces'),
      runtimeClasses: textsAt(exemptions['runtimeClasses'], 'exemptions.runtimeClasses'),
    },
  };
}

function eventLimitsOf(own: JsonObject): EventLimit[] {
  const limits = listAt(own['limits'] ?? [], 'limits');
  if (limits.length === 0) throw new Error('limits: must have at least one limit');
  return limits.map((limit, index) => {
    const place = `limits[${index}]`;
    const { type, qps, burst, cacheSize } = objectAt(limit, place);
    const limitType = LIMIT_TYPES.find((one) => one === type);
    if (limitType === undefined) throw new Error(`${place}.type: ${String(type)} is none of ${LIMIT_TYPES.join(', ')}`);
    for (const [name, number] of [
      ['qps', qps],
      ['burst', burst],
    ] as const)
      if (!Number.isInteger(number) || (number as number) <= 0) throw new Error(`${place}.${name}: must be positive`);
    const size = typeof cacheSize === 'number' && cacheSize > 0 ? { cacheSize } : {};
    return { type: limitType, qps: qps as number, burst: burst as number, ...size };
  });
}

function nodeSelectorsOf(own: JsonObject): ReadonlyMap<string, Readonly<Record<string, string>>> {
  const place = 'podNodeSelectorPluginConfig';
  const selectors = objectAt(own[place], place);
  return new Map(
    Object.entries(selectors).map(([name, text]) => {
      const labels = labelsOf(String(text ?? ''));
      if (labels === undefined) throw new Error(`${place}.${name}: invalid selector: [${String(text)}]`);
      return [name, labels];
    }),
  );
}

function tolerationsOf(own: JsonObject): TolerationConfig {
  if (own['kind'] !== 'Configuration') throw new Error(`kind: ${shown(own['kind'])} is not Configuration`);
  const read = (name: 'default' | 'whitelist'): TolerationConfig['default'] =>
    listAt(own[name] ?? [], name).map((one, index) => objectAt(one, `${name}[${index}]`));
  return { default: read('default'), whitelist: read('whitelist') };
}

const IMAGE_POLICY_LIMITS = {
  allowTTL: { unitMs: 1000, usual: 300, most: 1800 },
  denyTTL: { unitMs: 1000, usual: 30, most: 1800 },
  retryBackoff: { unitMs: 1, usual: 500, most: 300_000 },
} as const;

/** Upstream's cache sizes: 0 or absent means the default, -1 no cache. */
async function imagePolicyOf(own: JsonObject, target: ReadTarget): Promise<ImagePolicyConfig> {
  const place = 'imagePolicy';
  const policy = objectAt(own[place], place);
  const durationMs = (name: keyof typeof IMAGE_POLICY_LIMITS): number => {
    const { unitMs, usual, most } = IMAGE_POLICY_LIMITS[name];
    const configured = policy[name] ?? 0;
    if (configured === -1) return 0;
    if (configured === 0) return usual * unitMs;
    if (!Number.isInteger(configured) || (configured as number) < 1 || (configured as number) > most)
      throw new Error(`${place}.${name}: valid value is between 1 and ${most}, got ${String(configured)}`);
    return (configured as number) * unitMs;
  };
  const { kubeConfigFile, defaultAllow = false } = policy;
  if (typeof kubeConfigFile !== 'string' || kubeConfigFile === '')
    throw new Error(`${place}.kubeConfigFile: the kubeconfig of the webhook is required`);
  if (typeof defaultAllow !== 'boolean') throw new Error(`${place}.defaultAllow: must be true or false`);
  return {
    target: await target(kubeConfigFile),
    allowTtlMs: durationMs('allowTTL'),
    denyTtlMs: durationMs('denyTTL'),
    retryBackoffMs: durationMs('retryBackoff'),
    defaultAllow,
  };
}
