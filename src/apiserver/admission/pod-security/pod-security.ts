/**
 * PodSecurity: enforces the pod security level that a namespace's labels ask for, and warns about workloads whose
 * pods would be refused. Upstream: plugin/pkg/admission/security/podsecurity and pod-security-admission/admission.
 */
import type { Namespace, Pod, PodSpec, PodTemplateSpec } from '../../../api/gen/core-v1.ts';
import type { ObjectMeta } from '../../../api/gen/meta-v1.ts';
import { Namespaces, Pods } from '../../../api/gen/resources.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import { groupResourceOf } from '../../../api/resource-info.ts';
import { forbidden, internalError, invalid } from '../../../api/status-error.ts';
import { equal } from '../../../api/patch/json-patch.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import { recordFault } from '../../refused-requests/refusal-source.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { detailsText, violationsOf } from './evaluate.ts';
import { existingPodsWarnings } from './namespace-warnings.ts';
import { isRelaxed, levelText, type Policy, policyOf, PREFIX, PRIVILEGED_POLICY, sameLevel } from './policy.ts';

/** An administrator's settings for the whole server. Upstream: PodSecurityConfiguration. */
export interface PodSecurityConfig {
  readonly defaults: Policy;
  readonly exemptions: {
    readonly usernames: readonly string[];
    readonly namespaces: readonly string[];
    readonly runtimeClasses: readonly string[];
  };
}

const nothingSet: PodSecurityConfig = {
  defaults: PRIVILEGED_POLICY,
  exemptions: { usernames: [], namespaces: [], runtimeClasses: [] },
};

interface Template {
  readonly metadata?: ObjectMeta;
  readonly spec?: PodSpec;
}

const ofSpec = (object: KubernetesObject): Template | undefined =>
  (object as { spec?: { template?: PodTemplateSpec } }).spec?.template;

/** Resources that create pods, with the path of their template. */
const templates: Readonly<Record<string, (object: KubernetesObject) => Template | undefined>> = {
  podtemplates: (object) => (object as { template?: PodTemplateSpec }).template,
  replicationcontrollers: ofSpec,
  'replicasets.apps': ofSpec,
  'deployments.apps': ofSpec,
  'statefulsets.apps': ofSpec,
  'daemonsets.apps': ofSpec,
  'jobs.batch': ofSpec,
  'cronjobs.batch': (object) =>
    (object as { spec?: { jobTemplate?: { spec?: { template?: PodTemplateSpec } } } }).spec?.jobTemplate?.spec
      ?.template,
};

export function createPodSecurity(objects: () => ObjectStore, config: PodSecurityConfig = nothingSet): AdmissionPlugin {
  return {
    name: 'PodSecurity',
    handles(operation, resource, subresource) {
      if (operation !== 'CREATE' && operation !== 'UPDATE') return false;
      const name = groupResourceOf(resource);
      if (name === 'pods')
        return subresource === '' || subresource === 'ephemeralcontainers' || subresource === 'resize';
      return subresource === '' && (name === 'namespaces' || Object.hasOwn(templates, name));
    },
    validate(attributes) {
      const name = groupResourceOf(attributes.resource);
      if (name === 'namespaces') return evaluateNamespace(attributes, config, objects());
      if (name === 'pods') return evaluatePod(attributes, config, objects());
      const template = templates[name]!(attributes.object!);
      if (template?.spec === undefined) return;
      return evaluate(attributes, { config, objects: objects(), pod: template, enforce: false });
    },
  };
}

function evaluatePod(
  attributes: AdmissionAttributes,
  config: PodSecurityConfig,
  objects: ObjectStore,
): Promise<void> | void {
  const pod = attributes.object as Pod;
  if (attributes.operation === 'UPDATE' && !isSignificant(pod, attributes.oldObject as Pod)) return;
  if (pod.spec === undefined) return;
  return evaluate(attributes, { config, objects, pod, enforce: true });
}

/** Whether an update changes fields that the rules check: containers, and the annotations that fields have replaced. */
function isSignificant(pod: Pod, old: Pod): boolean {
  const seen = ({ metadata, spec }: Pod): unknown => [
    spec?.containers.map(({ resources: _, ...container }) => container),
    spec?.initContainers?.map(({ resources: _, ...container }) => container) ?? [],
    spec?.ephemeralContainers ?? [],
    Object.entries(metadata.annotations ?? {})
      .filter(([key]) => key.includes('.security.'))
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  ];
  return !equal(seen(pod), seen(old));
}

interface Evaluation {
  readonly config: PodSecurityConfig;
  readonly objects: ObjectStore;
  readonly pod: Template;
  readonly enforce: boolean;
}

async function evaluate(attributes: AdmissionAttributes, { config, objects, pod, enforce }: Evaluation): Promise<void> {
  const { namespace, context } = attributes;
  const exempt = exemptionOf(attributes, config, pod);
  if (exempt !== undefined) return context.addAuditAnnotation(`${PREFIX}exempt`, exempt);
  const namespaceObject = objects.get(Namespaces, '', namespace) ?? (await objects.getFresh(Namespaces, '', namespace));
  if (namespaceObject === undefined) throw internalError(`namespaces ${JSON.stringify(namespace)} not found`);
  const { policy, errors } = policyOf(namespaceObject.metadata.labels, config.defaults);
  if (errors.length > 0)
    context.addAuditAnnotation(
      `${PREFIX}error`,
      `Failed to parse policy: ${errors.map(({ field, text }) => `${field}: ${text}`).join(', ')}`,
    );
  const broken = (level: Policy['enforce']): string => detailsText(violationsOf(pod.metadata, pod.spec!, level));
  if (enforce) context.addAuditAnnotation(`${PREFIX}enforce-policy`, levelText(policy.enforce));
  const refused = enforce ? broken(policy.enforce) : '';
  const noted = broken(policy.audit);
  if (noted !== '')
    context.addAuditAnnotation(
      `${PREFIX}audit-violations`,
      `would violate PodSecurity ${JSON.stringify(levelText(policy.audit))}: ${noted}`,
    );
  if (refused !== '')
    throw recordFault(
      forbidden(
        attributes.resource,
        attributes.name,
        `violates PodSecurity ${JSON.stringify(levelText(policy.enforce))}: ${refused}`,
      ),
      Namespaces,
      { namespace: '', name: attributes.namespace },
    );
  const warned = broken(policy.warn);
  if (warned !== '')
    context.addWarning(`would violate PodSecurity ${JSON.stringify(levelText(policy.warn))}: ${warned}`);
}

function exemptionOf(
  { namespace, context }: AdmissionAttributes,
  { exemptions }: PodSecurityConfig,
  { spec }: Template,
): string | undefined {
  if (exemptions.namespaces.includes(namespace)) return 'namespace';
  if (exemptions.usernames.includes(context.user.name)) return 'user';
  return exemptions.runtimeClasses.includes(spec?.runtimeClassName ?? '') ? 'runtimeClass' : undefined;
}

function evaluateNamespace(attributes: AdmissionAttributes, config: PodSecurityConfig, objects: ObjectStore): void {
  const { object, oldObject, operation, context } = attributes;
  const name = (object as Namespace).metadata.name ?? '';
  const { policy, errors } = policyOf(object!.metadata.labels, config.defaults);
  const old = operation === 'UPDATE' ? policyOf(oldObject!.metadata.labels, config.defaults) : undefined;
  if (errors.length > 0 && (old === undefined || old.errors.length === 0 || !equal(errors, old.errors)))
    throw invalid({ group: '', kind: 'Namespace' }, name, errors);
  const exempt = config.exemptions.namespaces.includes(name);
  if (old !== undefined) {
    if (sameLevel(policy.enforce, old.policy.enforce) || policy.enforce.level === 'privileged') return;
    if (isRelaxed(policy.enforce, old.policy.enforce)) return;
  }
  if (exempt) return warnExempt(attributes, name, policy);
  if (old === undefined) return;
  for (const text of existingPodsWarnings(name, objects.list(Pods, name), policy.enforce)) context.addWarning(text);
}

function warnExempt({ object, context }: AdmissionAttributes, name: string, policy: Policy): void {
  const labels = object!.metadata.labels ?? {};
  const levels = (['enforce', 'audit', 'warn'] as const)
    .filter((mode) => policy[mode].level !== 'privileged')
    .filter((mode) => Object.hasOwn(labels, PREFIX + mode) || Object.hasOwn(labels, `${PREFIX}${mode}-version`))
    .map((mode) => `${mode}=${levelText(policy[mode])}`);
  if (levels.length === 0) return;
  context.addWarning(
    `namespace ${JSON.stringify(name)} is exempt from Pod Security, and the policy (${levels.join(', ')}) will be ignored`,
  );
}
