/**
 * Rules about resource claims that their controller, the scheduler and the kubelet share. Upstream:
 * dynamic-resource-allocation/resourceclaim.
 */
import type { Pod, PodResourceClaim } from '../api/gen/core-v1.ts';
import type { DeviceTaint, DeviceToleration } from '../api/gen/resource-v1.ts';

/** Keeps a claim while devices are allocated for it. */
export const CLAIM_FINALIZER = 'resource.kubernetes.io/delete-protection';

/** Marks the claim that the scheduler made for the extended resources of a pod. */
export const EXTENDED_RESOURCE_CLAIM = 'resource.kubernetes.io/extended-resource-claim';

/** The prefix of the extended resource that every device class stands for, besides one that it may name itself. */
export const DEVICE_CLASS_RESOURCES = 'deviceclass.resource.kubernetes.io/';

/** The name of a pod's claim; undefined until it is created from its template. */
export function claimNameOf(pod: Pod, podClaim: PodResourceClaim): string | undefined {
  if (podClaim.resourceClaimName !== undefined) return podClaim.resourceClaimName;
  return pod.status?.resourceClaimStatuses?.find(({ name }) => name === podClaim.name)?.resourceClaimName;
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

/** Whether a claim of the pod serves the extended resource, for the pod or for one of its containers. */
export function isServedByClaim({ status }: Pod, resource: string, container?: string): boolean {
  const mappings = status?.extendedResourceClaimStatus?.requestMappings ?? [];
  return mappings.some(
    ({ resourceName, containerName }) =>
      resourceName === resource && (container === undefined || containerName === container),
  );
}

/** Whether a request with these tolerations may have, or keep, a device with the taint. */
export function toleratesDeviceTaint(toleration: DeviceToleration, { key, value = '', effect }: DeviceTaint): boolean {
  return (
    ((toleration.key ?? '') === '' ? toleration.operator === 'Exists' : toleration.key === key) &&
    ((toleration.effect ?? '') === '' || toleration.effect === effect) &&
    (toleration.operator === 'Exists' || (toleration.value ?? '') === value)
  );
}
