/** All admission plugins. A new plugin: a folder, a line here and one in plugin-names.ts. */
import type { Clock } from '../../platform/clock.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { Log } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Net } from '../../platform/net.ts';
import type { Random } from '../../platform/random.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { Authorizer } from '../authz/contract.ts';
import type { EscalationDeps } from '../authz/escalation.ts';
import type { ResourceRegistry } from '../generic-registry/resource-registry.ts';
import { createServiceResolver, type ResolveService } from '../webhook/service-resolver.ts';
import { createWebhookClient } from '../webhook/webhook-client.ts';
import type { AdmissionPlugin } from './contract.ts';
import { createClaimStatusAuthorization } from './claim-status-authorization/claim-status-authorization.ts';
import { createDefaultStorageClass } from './default-storage-class/default-storage-class.ts';
import {
  createDefaultTolerationSeconds,
  type TolerationSeconds,
} from './default-toleration-seconds/default-toleration-seconds.ts';
import { createDeviceAdminAccess } from './device-admin-access/device-admin-access.ts';
import { createLimitRanger } from './limit-ranger/limit-ranger.ts';
import { createNamespaceAutoProvision } from './namespace-auto-provision/namespace-auto-provision.ts';
import { createNamespaceExists } from './namespace-exists/namespace-exists.ts';
import { createNamespaceLifecycle } from './namespace-lifecycle/namespace-lifecycle.ts';
import { createNodeDeclaredFeatureValidator } from './node-declared-features/node-declared-feature-validator.ts';
import { createNodeRestriction } from './node-restriction/node-restriction.ts';
import { ADMISSION_PLUGIN_NAMES, type AdmissionPluginName, defaultAdmissionPlugins } from './plugin-names.ts';
import { createMutatingAdmissionPolicy } from './policy/mutating-policy.ts';
import { createValidatingAdmissionPolicy } from './policy/validating-policy.ts';
import { createPrivilegedContainers } from './privileged-containers/privileged-containers.ts';
import { createPriority } from './priority/priority.ts';
import { createRbacEscalation } from './rbac-escalation/rbac-escalation.ts';
import type { LimitedResource } from './resource-quota/limited-resources.ts';
import { createResourceQuota } from './resource-quota/resource-quota.ts';
import { createServiceAccount } from './service-account/service-account.ts';
import { createAlwaysAdmit, createAlwaysDeny } from './always/always.ts';
import { createAlwaysPullImages } from './always-pull-images/always-pull-images.ts';
import {
  createCertificateApproval,
  createCertificateSigning,
  createClusterTrustBundleAttest,
} from './certificates/certificate-plugins.ts';
import { createCertificateSubjectRestriction } from './certificates/certificate-subject-restriction.ts';
import { createDefaultIngressClass } from './default-ingress-class/default-ingress-class.ts';
import { createDenyServiceExternalIps } from './deny-service-external-ips/deny-service-external-ips.ts';
import { createEventRateLimit, type EventLimit } from './event-rate-limit/event-rate-limit.ts';
import { createExtendedResourceToleration } from './extended-resource-toleration/extended-resource-toleration.ts';
import { createImagePolicyWebhook, type ImagePolicyConfig } from './image-policy-webhook/image-policy-webhook.ts';
import { createLimitPodHardAntiAffinityTopology } from './limit-pod-hard-anti-affinity-topology/limit-pod-hard-anti-affinity-topology.ts';
import { createOwnerReferencesPermissionEnforcement } from './owner-references-permission-enforcement/owner-references-permission-enforcement.ts';
import { createPersistentVolumeClaimResize } from './persistent-volume-claim-resize/persistent-volume-claim-resize.ts';
import { createPodNodeSelector } from './pod-node-selector/pod-node-selector.ts';
import { createPodResizeValidator } from './pod-resize/pod-resize-validator.ts';
import { createPodSecurity, type PodSecurityConfig } from './pod-security/pod-security.ts';
import {
  createPodTolerationRestriction,
  type TolerationConfig,
} from './pod-toleration-restriction/pod-toleration-restriction.ts';
import { createPolicyParamAccess } from './policy/param-access.ts';
import { createPodTopologyLabels } from './pod-topology-labels/pod-topology-labels.ts';
import { createRuntimeClass } from './runtime-class/runtime-class.ts';
import { createStorageObjectInUseProtection } from './storage-object-in-use-protection/storage-object-in-use-protection.ts';
import { createTaintNodesByCondition } from './taint-nodes-by-condition/taint-nodes-by-condition.ts';
import type { WebhookAdmissionDeps } from './webhook/call-webhook.ts';
import { createWebhookMatchConditions } from './webhook/match-conditions.ts';
import { createMutatingWebhooks } from './webhook/mutating-webhook.ts';
import { createValidatingWebhooks } from './webhook/validating-webhook.ts';
import { createWebhookMetrics } from './webhook/webhook-metrics.ts';

export interface AdmissionDeps {
  readonly objects: () => ObjectStore;
  readonly registry: ResourceRegistry;
  readonly random: Random;
  /** The server's authorizer. */
  readonly authorizer: Authorizer;
  /** The RBAC rules a user holds in a namespace. */
  readonly rulesFor: EscalationDeps['rulesFor'];
  readonly clock: Clock;
  /** Calls webhooks. */
  readonly net: Pick<Net, 'http'>;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly crypto: CryptoPort;
  readonly config?: AdmissionConfig;
}

/** Administrators' settings of single plugins. Upstream: `--admission-control-config-file`. */
export interface AdmissionConfig {
  readonly podSecurity?: PodSecurityConfig;
  readonly eventLimits?: readonly EventLimit[];
  /** PodNodeSelector: the labels that pods of a namespace get as their node selector, by the namespace's name. */
  readonly nodeSelectors?: ReadonlyMap<string, Readonly<Record<string, string>>>;
  readonly tolerations?: TolerationConfig;
  readonly imagePolicy?: ImagePolicyConfig;
  readonly tolerationSeconds?: TolerationSeconds;
  /** Whether privileged containers are refused. */
  readonly refusesPrivileged?: boolean;
  /** ResourceQuota: resources that need a quota. */
  readonly limitedResources?: readonly LimitedResource[];
}

/** The constructors of all plugins, in the order of the names. */
const factories: Readonly<Record<AdmissionPluginName, (deps: AdmissionDeps) => AdmissionPlugin>> = {
  AlwaysAdmit: () => createAlwaysAdmit(),
  NamespaceAutoProvision: (d) => createNamespaceAutoProvision(d.objects),
  NamespaceExists: (d) => createNamespaceExists(d.objects),
  NamespaceLifecycle: (d) => createNamespaceLifecycle(d.objects),
  LimitPodHardAntiAffinityTopology: () => createLimitPodHardAntiAffinityTopology(),
  LimitRanger: (d) => createLimitRanger(d.objects),
  ServiceAccount: (d) => createServiceAccount(d.objects, d.random),
  NodeRestriction: (d) => createNodeRestriction(d.objects, d.authorizer, d.crypto),
  TaintNodesByCondition: () => createTaintNodesByCondition(),
  AlwaysPullImages: () => createAlwaysPullImages(),
  ImagePolicyWebhook: (d) =>
    createImagePolicyWebhook({ client: createWebhookClient(d), clock: d.clock }, d.config?.imagePolicy),
  PodSecurity: (d) => createPodSecurity(d.objects, d.config?.podSecurity),
  PodNodeSelector: (d) => createPodNodeSelector(d.objects, d.config?.nodeSelectors),
  Priority: (d) => createPriority(d.objects),
  DefaultTolerationSeconds: (d) => createDefaultTolerationSeconds(d.config?.tolerationSeconds),
  PodTolerationRestriction: (d) => createPodTolerationRestriction(d.objects, d.config?.tolerations),
  EventRateLimit: (d) => createEventRateLimit(d.clock, d.config?.eventLimits ?? []),
  ExtendedResourceToleration: () => createExtendedResourceToleration(),
  DefaultStorageClass: (d) => createDefaultStorageClass(d.objects),
  StorageObjectInUseProtection: () => createStorageObjectInUseProtection(),
  OwnerReferencesPermissionEnforcement: createOwnerReferencesPermissionEnforcement,
  PersistentVolumeClaimResize: (d) => createPersistentVolumeClaimResize(d.objects),
  RuntimeClass: (d) => createRuntimeClass(d.objects),
  CertificateApproval: (d) => createCertificateApproval(d.authorizer),
  CertificateSigning: (d) => createCertificateSigning(d.authorizer),
  ClusterTrustBundleAttest: (d) => createClusterTrustBundleAttest(d.authorizer),
  CertificateSubjectRestriction: (d) => createCertificateSubjectRestriction(d.crypto),
  DefaultIngressClass: (d) => createDefaultIngressClass(d.objects),
  DenyServiceExternalIPs: () => createDenyServiceExternalIps(),
  PodTopologyLabels: (d) => createPodTopologyLabels(d.objects),
  NodeDeclaredFeatureValidator: (d) => createNodeDeclaredFeatureValidator(d.objects),
  PodResizeValidator: (d) => createPodResizeValidator(d.objects),
  MutatingAdmissionPolicy: createMutatingAdmissionPolicy,
  MutatingAdmissionWebhook: (d) => createMutatingWebhooks(webhookDeps(d), serviceResolver(d)),
  ValidatingAdmissionPolicy: createValidatingAdmissionPolicy,
  ValidatingAdmissionWebhook: (d) => createValidatingWebhooks(webhookDeps(d), serviceResolver(d)),
  ResourceQuota: (d) => createResourceQuota(d.objects, d.clock, d.config?.limitedResources),
  AlwaysDeny: () => createAlwaysDeny(),
};

function webhookDeps(deps: AdmissionDeps): WebhookAdmissionDeps {
  const { objects, registry, random, net, clock, log } = deps;
  const client = createWebhookClient({ net, clock, log });
  const matchConditions = createWebhookMatchConditions(deps.authorizer);
  return {
    objects,
    registry,
    client,
    random: random.fork('webhooks'),
    log: log.child('admission'),
    matchConditions,
    measure: createWebhookMetrics(deps),
  };
}

function serviceResolver({ objects, random }: AdmissionDeps): ResolveService {
  return createServiceResolver({ objects, random: random.fork('webhook-endpoints') });
}

/** The first plugin that users configure: checks that users cannot disable run before it. */
const FIRST_CONFIGURED: AdmissionPluginName = 'MutatingAdmissionPolicy';

/** Checks that upstream makes in the strategies of resources, where they are no plugins. */
function checksOfRegistries(deps: AdmissionDeps): AdmissionPlugin[] {
  const always = [
    createRbacEscalation(deps),
    createPolicyParamAccess(deps),
    createDeviceAdminAccess(deps.objects),
    createClaimStatusAuthorization(deps.authorizer),
  ];
  return deps.config?.refusesPrivileged === true ? [...always, createPrivilegedContainers()] : always;
}

/** The plugins with these names (by default the default ones), in the order they run. */
export function createAdmissionPlugins(
  deps: AdmissionDeps,
  names: readonly string[] = defaultAdmissionPlugins,
): readonly AdmissionPlugin[] {
  return ADMISSION_PLUGIN_NAMES.flatMap((name) => [
    ...(name === FIRST_CONFIGURED ? checksOfRegistries(deps) : []),
    ...(names.includes(name) ? [factories[name](deps)] : []),
  ]);
}
