/**
 * Defaults of small cluster-level kinds: rbac, storage, scheduling, flow control, extensions. Upstream: defaults.go of
 * apis/rbac/v1, storage/v1, scheduling/v1, flowcontrol/v1, apiextensions/v1, apiregistration/v1, resource/v1.
 */
import type { CustomResourceDefinition } from '../gen/apiextensions-v1.ts';
import type { APIService } from '../gen/apiregistration-v1.ts';
import type { FlowSchema, PriorityLevelConfiguration } from '../gen/flowcontrol-v1.ts';
import type { ClusterRoleBinding, RoleBinding } from '../gen/rbac-v1.ts';
import type { ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate } from '../gen/resource-v1.ts';
import type { PriorityClass } from '../gen/scheduling-v1.ts';
import type { CSIDriver, StorageClass } from '../gen/storage-v1.ts';

const RBAC_GROUP = 'rbac.authorization.k8s.io';

/** Sets the defaults of a binding of either scope. */
export function setRoleBindingDefaults(binding: RoleBinding | ClusterRoleBinding): void {
  if (binding.roleRef !== undefined) binding.roleRef.apiGroup ||= RBAC_GROUP;
  for (const subject of binding.subjects ?? []) {
    if (subject.kind === 'User' || subject.kind === 'Group') subject.apiGroup ||= RBAC_GROUP;
  }
}

export function setStorageClassDefaults(storageClass: StorageClass): void {
  storageClass.reclaimPolicy ??= 'Delete';
  storageClass.volumeBindingMode ??= 'Immediate';
}

export function setCSIDriverDefaults(driver: CSIDriver): void {
  const spec = (driver.spec ??= {});
  spec.attachRequired ??= true;
  spec.podInfoOnMount ??= false;
  spec.storageCapacity ??= false;
  spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType';
  if ((spec.volumeLifecycleModes ?? []).length === 0) spec.volumeLifecycleModes = ['Persistent'];
  spec.requiresRepublish ??= false;
  spec.seLinuxMount ??= false;
}

export function setPriorityClassDefaults(priorityClass: PriorityClass): void {
  priorityClass.preemptionPolicy ??= 'PreemptLowerPriority';
}

export function setFlowSchemaDefaults(schema: FlowSchema): void {
  if (schema.spec !== undefined) schema.spec.matchingPrecedence ||= 1000;
}

export function setPriorityLevelDefaults(level: PriorityLevelConfiguration): void {
  const { limited, exempt } = level.spec ?? {};
  if (exempt !== undefined) {
    exempt.nominalConcurrencyShares ??= 0;
    exempt.lendablePercent ??= 0;
  }
  if (limited === undefined) return;
  limited.nominalConcurrencyShares ??= 30;
  limited.lendablePercent ??= 0;
  const queuing = limited.limitResponse?.queuing;
  if (queuing === undefined) return;
  queuing.handSize ||= 8;
  queuing.queues ||= 64;
  queuing.queueLengthLimit ||= 50;
}

export function setAPIServiceDefaults(service: APIService): void {
  if (service.spec?.service !== undefined) service.spec.service.port ??= 443;
}

export function setCustomResourceDefinitionDefaults(definition: CustomResourceDefinition): void {
  const spec = definition.spec;
  if (spec === undefined) return;
  if (spec.names !== undefined) {
    spec.names.singular ||= (spec.names.kind ?? '').toLowerCase();
    if ((spec.names.listKind ?? '') === '' && (spec.names.kind ?? '') !== '')
      spec.names.listKind = `${spec.names.kind}List`;
  }
  spec.conversion ??= { strategy: 'None' };
  const { webhook } = spec.conversion;
  // Upstream's internal type has no place for a webhook that says nothing.
  if (
    webhook !== undefined &&
    webhook.clientConfig === undefined &&
    (webhook.conversionReviewVersions ?? []).length === 0
  )
    delete spec.conversion.webhook;
  const service = spec.conversion.webhook?.clientConfig?.service;
  if (service !== undefined) service.port ??= 443;
}

function setClaimSpecDefaults(spec: ResourceClaimSpec | undefined): void {
  for (const request of spec?.devices?.requests ?? []) {
    for (const part of [
      ...(request.exactly === undefined ? [] : [request.exactly]),
      ...(request.firstAvailable ?? []),
    ]) {
      part.allocationMode ||= 'ExactCount';
      if (part.allocationMode === 'ExactCount') part.count ||= 1;
      for (const toleration of part.tolerations ?? []) toleration.operator ||= 'Equal';
    }
  }
}

export function setResourceClaimDefaults(claim: ResourceClaim): void {
  setClaimSpecDefaults(claim.spec);
  for (const { tolerations } of claim.status?.allocation?.devices?.results ?? [])
    for (const toleration of tolerations ?? []) toleration.operator ||= 'Equal';
}

export function setResourceClaimTemplateDefaults(template: ResourceClaimTemplate): void {
  setClaimSpecDefaults(template.spec?.spec);
}
