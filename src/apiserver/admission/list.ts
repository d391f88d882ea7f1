/** All admission plugins, in upstream's order, and which are on by default. A new plugin: one folder and one line here. */
import type { Clock } from '../../platform/clock.ts';
import type { Random } from '../../platform/random.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { Authorizer } from '../authz/contract.ts';
import type { EscalationDeps } from '../authz/escalation.ts';
import type { AdmissionPlugin } from './contract.ts';
import { createDefaultStorageClass } from './default-storage-class/default-storage-class.ts';
import { createDefaultTolerationSeconds } from './default-toleration-seconds/default-toleration-seconds.ts';
import { createLimitRanger } from './limit-ranger/limit-ranger.ts';
import { createNamespaceLifecycle } from './namespace-lifecycle/namespace-lifecycle.ts';
import { createNodeRestriction } from './node-restriction/node-restriction.ts';
import { createPriority } from './priority/priority.ts';
import { createRbacEscalation } from './rbac-escalation/rbac-escalation.ts';
import { createResourceQuota } from './resource-quota/resource-quota.ts';
import { createServiceAccount } from './service-account/service-account.ts';
import { createTaintNodesByCondition } from './taint-nodes-by-condition/taint-nodes-by-condition.ts';

/** What plugins may use. */
export interface AdmissionDeps {
  readonly objects: () => ObjectStore;
  readonly random: Random;
  /** What the server as a whole allows. */
  readonly authorizer: Authorizer;
  /** The RBAC rules a user holds in a namespace. */
  readonly rulesFor: EscalationDeps['rulesFor'];
  readonly clock: Clock;
}

/** Plugin factories in the order they run. */
export const admissionPlugins: readonly ((deps: AdmissionDeps) => AdmissionPlugin)[] = [
  (d) => createNamespaceLifecycle(d.objects),
  (d) => createLimitRanger(d.objects),
  (d) => createServiceAccount(d.objects, d.random),
  (d) => createNodeRestriction(d.objects),
  () => createTaintNodesByCondition(),
  (d) => createPriority(d.objects),
  () => createDefaultTolerationSeconds(),
  (d) => createDefaultStorageClass(d.objects),
  (d) => createRbacEscalation(d),
  (d) => createResourceQuota(d.objects, d.clock),
];

/** Makes all plugins. */
export function createAdmissionPlugins(deps: AdmissionDeps): readonly AdmissionPlugin[] {
  return admissionPlugins.map((create) => create(deps));
}
