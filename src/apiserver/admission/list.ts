/** All admission plugins, in upstream's order, and which are on by default. A new plugin: one folder and one line here. */
import type { Clock } from '../../platform/clock.ts';
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

/** In the order they run, which is upstream's. NodeRestriction, which upstream leaves to kubeadm, is on. */
const admissionPlugins: readonly ListedPlugin[] = [
  on('NamespaceLifecycle', (d) => createNamespaceLifecycle(d.objects)),
  on('LimitRanger', (d) => createLimitRanger(d.objects)),
  on('ServiceAccount', (d) => createServiceAccount(d.objects, d.random)),
  on('NodeRestriction', (d) => createNodeRestriction(d.objects)),
  on('TaintNodesByCondition', () => createTaintNodesByCondition()),
  on('Priority', (d) => createPriority(d.objects)),
  on('DefaultTolerationSeconds', () => createDefaultTolerationSeconds()),
  on('DefaultStorageClass', (d) => createDefaultStorageClass(d.objects)),
  { name: undefined, onByDefault: true, create: (d) => createRbacEscalation(d) },
  on('MutatingAdmissionWebhook', (d) => createMutatingWebhooks(webhookDeps(d), serviceResolver(d))),
  on('ValidatingAdmissionPolicy', createValidatingAdmissionPolicy),
  on('ValidatingAdmissionWebhook', (d) => createValidatingWebhooks(webhookDeps(d), serviceResolver(d))),
  on('ResourceQuota', (d) => createResourceQuota(d.objects, d.clock)),
];

function webhookDeps(deps: AdmissionDeps): WebhookAdmissionDeps {
  const { objects, registry, random, net, clock, log } = deps;
  const client = createWebhookClient({ net, clock });
  const matchConditions = createWebhookMatchConditions(deps.authorizer);
  return { objects, registry, client, random: random.fork('webhooks'), log: log.child('admission'), matchConditions };
}

function serviceResolver({ objects, random }: AdmissionDeps): ResolveService {
  return createServiceResolver({ objects, random: random.fork('webhook-endpoints') });
}

/** Makes all plugins. */
export function createAdmissionPlugins(deps: AdmissionDeps): readonly AdmissionPlugin[] {
  return admissionPlugins.filter((plugin) => plugin.onByDefault).map((plugin) => plugin.create(deps));
}
