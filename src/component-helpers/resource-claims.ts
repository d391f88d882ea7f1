/**
 * Rules about resource claims that their controller, the scheduler and the kubelet share. Upstream:
 * dynamic-resource-allocation/resourceclaim.
 */
import type {
  ContainerExtendedResourceRequest,
  Pod,
  PodResourceClaim,
  PodResourceClaimStatus,
} from '../api/gen/core-v1.ts';
import type { DeviceTaint, DeviceToleration, ResourceClaim } from '../api/gen/resource-v1.ts';
import type { Stored } from '../api/object.ts';
import { firstByName } from '../base/first-by.ts';
import { getOrMake } from '../base/get-or-make.ts';
import { controllerOf } from './owner-references.ts';

/** Keeps a claim while devices are allocated for it. */
export const CLAIM_FINALIZER = 'resource.kubernetes.io/delete-protection';

/** Marks the claim that the scheduler made for the extended resources of a pod. */
export const EXTENDED_RESOURCE_CLAIM = 'resource.kubernetes.io/extended-resource-claim';

/** The prefix of the extended resource that every device class stands for, besides one that it may name itself. */
export const DEVICE_CLASS_RESOURCES = 'deviceclass.resource.kubernetes.io/';

const claimNames = new WeakMap<readonly PodResourceClaimStatus[], ReadonlyMap<string, PodResourceClaimStatus>>();

/** What the pod's status says of a claim of the pod. A pod may have thousands. */
export function claimStatusOf({ status }: Pod, name: string): PodResourceClaimStatus | undefined {
  const statuses = status?.resourceClaimStatuses;
  return statuses && getOrMake(claimNames, statuses, () => firstByName(statuses)).get(name);
}

/** The name of a pod's claim; undefined until it is created from its template. */
export function claimNameOf(pod: Pod, podClaim: PodResourceClaim): string | undefined {
  return podClaim.resourceClaimName ?? claimStatusOf(pod, podClaim.name)?.resourceClaimName;
}

/** Whether the scheduler made the claim for extended resources of a pod. */
export function isExtendedClaim({ metadata }: ResourceClaim): boolean {
  return metadata.annotations?.[EXTENDED_RESOURCE_CLAIM] === 'true';
}

/** Whether the claim was made for the extended resources of the pod. */
export function isExtendedClaimOf(claim: ResourceClaim, pod: Stored<Pod>): boolean {
  const { namespace, uid } = pod.metadata;
  return isExtendedClaim(claim) && claim.metadata.namespace === namespace && controllerOf(claim)?.uid === uid;
}

/**
 * The names of all existing claims of the pod, including the one for its extended resources. Upstream:
 * resourceclaim.PodClaims.
 */
export function claimNamesOf(pod: Pod): string[] {
  const named = (pod.spec?.resourceClaims ?? []).map((podClaim) => claimNameOf(pod, podClaim));
  const extended = pod.status?.extendedResourceClaimStatus?.resourceClaimName;
  return [...named, extended].filter((name) => name !== undefined);
}

const servedResources = new WeakMap<readonly ContainerExtendedResourceRequest[], ReadonlySet<string>>();

/** Whether a claim of the pod serves the extended resource, for the pod or for one of its containers. */
export function isServedByClaim({ status }: Pod, resource: string, container?: string): boolean {
  const mappings = status?.extendedResourceClaimStatus?.requestMappings;
  if (mappings === undefined) return false;
  const served = getOrMake(
    servedResources,
    mappings,
    () => new Set(mappings.flatMap((each) => [each.resourceName, `${each.resourceName} ${each.containerName}`])),
  );
  return served.has(container === undefined ? resource : `${resource} ${container}`);
}

/** Whether a request with these tolerations may have, or keep, a device with the taint. */
export function toleratesDeviceTaint(toleration: DeviceToleration, { key, value = '', effect }: DeviceTaint): boolean {
  return (
    ((toleration.key ?? '') === '' ? toleration.operator === 'Exists' : toleration.key === key) &&
    ((toleration.effect ?? '') === '' || toleration.effect === effect) &&
    (toleration.operator === 'Exists' || (toleration.value ?? '') === value)
  );
}
