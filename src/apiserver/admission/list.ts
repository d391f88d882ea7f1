/** All admission plugins, in upstream's order, and which are on by default. A new plugin: one folder and one line here. */
import type { Clock } from '../../platform/clock.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { Log } from '../../platform/log.ts';
import type { Net } from '../../platform/net.ts';
import type { Random } from '../../platform/random.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { Authorizer } from '../authz/contract.ts';
import type { EscalationDeps } from '../authz/escalation.ts';
import type { ResourceRegistry } from '../generic-registry/resource-registry.ts';
import { createServiceResolver, type ResolveService } from '../webhook/service-resolver.ts';
import { createWebhookClient } from '../webhook/webhook-client.ts';
import type { AdmissionPlugin } from './contract.ts';
import { createDefaultStorageClass } from './default-storage-class/default-storage-class.ts';
import { createDefaultTolerationSeconds } from './default-toleration-seconds/default-toleration-seconds.ts';
import { createLimitRanger } from './limit-ranger/limit-ranger.ts';
import { createNamespaceLifecycle } from './namespace-lifecycle/namespace-lifecycle.ts';
import { createNodeRestriction } from './node-restriction/node-restriction.ts';
import { createValidatingAdmissionPolicy } from './policy/validating-policy.ts';
import { createPriority } from './priority/priority.ts';
import { createRbacEscalation } from './rbac-escalation/rbac-escalation.ts';
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
import { createLimitPodHardAntiAffinityTopology } from './limit-pod-hard-anti-affinity-topology/limit-pod-hard-anti-affinity-topology.ts';
import { createPersistentVolumeClaimResize } from './persistent-volume-claim-resize/persistent-volume-claim-resize.ts';
import { createPodSecurity, type PodSecurityConfig } from './pod-security/pod-security.ts';
import { createPodTopologyLabels } from './pod-topology-labels/pod-topology-labels.ts';
import { createRuntimeClass } from './runtime-class/runtime-class.ts';
import { createStorageObjectInUseProtection } from './storage-object-in-use-protection/storage-object-in-use-protection.ts';
import { createTaintNodesByCondition } from './taint-nodes-by-condition/taint-nodes-by-condition.ts';
import type { WebhookAdmissionDeps } from './webhook/call-webhook.ts';
import { createWebhookMatchConditions } from './webhook/match-conditions.ts';
import { createMutatingWebhooks } from './webhook/mutating-webhook.ts';
import { createValidatingWebhooks } from './webhook/validating-webhook.ts';

/** What plugins may use. */
export interface AdmissionDeps {
  readonly objects: () => ObjectStore;
  readonly registry: ResourceRegistry;
  readonly random: Random;
  /** What the server as a whole allows. */
  readonly authorizer: Authorizer;
  /** The RBAC rules a user holds in a namespace. */
  readonly rulesFor: EscalationDeps['rulesFor'];
  readonly clock: Clock;
  /** The way to webhooks. */
  readonly net: Pick<Net, 'http'>;
  readonly log: Log;
  readonly crypto: CryptoPort;
  readonly config?: AdmissionConfig;
}

/** What administrators set for single plugins. Upstream: `--admission-control-config-file`. */
export interface AdmissionConfig {
  readonly podSecurity?: PodSecurityConfig;
  readonly eventLimits?: readonly EventLimit[];
}

/** One plugin of the list. */
interface ListedPlugin {
  /** Upstream's name; undefined for what upstream does elsewhere, which cannot be turned off. */
  readonly name: string | undefined;
  readonly onByDefault: boolean;
  create(deps: AdmissionDeps): AdmissionPlugin;
}

function on(name: string, create: ListedPlugin['create']): ListedPlugin {
  return { name, onByDefault: true, create };
}

function off(name: string, create: ListedPlugin['create']): ListedPlugin {
  return { name, onByDefault: false, create };
}

/** In the order they run, which is upstream's. NodeRestriction, which upstream leaves to kubeadm, is on. */
const admissionPlugins: readonly ListedPlugin[] = [
  off('AlwaysAdmit', () => createAlwaysAdmit()),
  on('NamespaceLifecycle', (d) => createNamespaceLifecycle(d.objects)),
  off('LimitPodHardAntiAffinityTopology', () => createLimitPodHardAntiAffinityTopology()),
  on('LimitRanger', (d) => createLimitRanger(d.objects)),
  on('ServiceAccount', (d) => createServiceAccount(d.objects, d.random)),
  on('NodeRestriction', (d) => createNodeRestriction(d.objects)),
  on('TaintNodesByCondition', () => createTaintNodesByCondition()),
  off('AlwaysPullImages', () => createAlwaysPullImages()),
  on('PodSecurity', (d) => createPodSecurity(d.objects, d.config?.podSecurity)),
  on('Priority', (d) => createPriority(d.objects)),
  on('DefaultTolerationSeconds', () => createDefaultTolerationSeconds()),
  off('EventRateLimit', (d) => createEventRateLimit(d.clock, d.config?.eventLimits ?? [])),
  off('ExtendedResourceToleration', () => createExtendedResourceToleration()),
  on('DefaultStorageClass', (d) => createDefaultStorageClass(d.objects)),
  on('StorageObjectInUseProtection', () => createStorageObjectInUseProtection()),
  on('PersistentVolumeClaimResize', (d) => createPersistentVolumeClaimResize(d.objects)),
  on('RuntimeClass', (d) => createRuntimeClass(d.objects)),
  on('CertificateApproval', (d) => createCertificateApproval(d.authorizer)),
  on('CertificateSigning', (d) => createCertificateSigning(d.authorizer)),
  on('ClusterTrustBundleAttest', (d) => createClusterTrustBundleAttest(d.authorizer)),
  on('CertificateSubjectRestriction', (d) => createCertificateSubjectRestriction(d.crypto)),
  on('DefaultIngressClass', (d) => createDefaultIngressClass(d.objects)),
  off('DenyServiceExternalIPs', () => createDenyServiceExternalIps()),
  on('PodTopologyLabels', (d) => createPodTopologyLabels(d.objects)),
  { name: undefined, onByDefault: true, create: (d) => createRbacEscalation(d) },
  on('MutatingAdmissionWebhook', (d) => createMutatingWebhooks(webhookDeps(d), serviceResolver(d))),
  on('ValidatingAdmissionPolicy', createValidatingAdmissionPolicy),
  on('ValidatingAdmissionWebhook', (d) => createValidatingWebhooks(webhookDeps(d), serviceResolver(d))),
  on('ResourceQuota', (d) => createResourceQuota(d.objects, d.clock)),
  off('AlwaysDeny', () => createAlwaysDeny()),
];

/** Names of the plugins that can be chosen, in the order they run. */
export const admissionPluginNames: readonly string[] = admissionPlugins.flatMap(({ name }) => name ?? []);

/** Names of those that run unless chosen otherwise. */
export const defaultAdmissionPlugins: readonly string[] = admissionPlugins.flatMap(({ name, onByDefault }) =>
  onByDefault && name !== undefined ? [name] : [],
);

function webhookDeps(deps: AdmissionDeps): WebhookAdmissionDeps {
  const { objects, registry, random, net, clock, log } = deps;
  const client = createWebhookClient({ net, clock });
  const matchConditions = createWebhookMatchConditions(deps.authorizer);
  return { objects, registry, client, random: random.fork('webhooks'), log: log.child('admission'), matchConditions };
}

function serviceResolver({ objects, random }: AdmissionDeps): ResolveService {
  return createServiceResolver({ objects, random: random.fork('webhook-endpoints') });
}

/** Makes the plugins of these names (the default ones when absent), in the order they run. */
export function createAdmissionPlugins(
  deps: AdmissionDeps,
  names: readonly string[] = defaultAdmissionPlugins,
): readonly AdmissionPlugin[] {
  return admissionPlugins
    .filter(({ name }) => name === undefined || names.includes(name))
    .map((plugin) => plugin.create(deps));
}
