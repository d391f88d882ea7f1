/** Resource claims as their controller, the scheduler and the kubelet must see them alike. Upstream: dynamic-resource-allocation/resourceclaim. */
import type { Pod, PodResourceClaim } from '../api/gen/core-v1.ts';
import type { DeviceTaint, DeviceToleration } from '../api/gen/resource-v1.ts';

/** Keeps a claim while devices are allocated for it. */
export const CLAIM_FINALIZER = 'resource.kubernetes.io/delete-protection';

/** Marks the claim that the scheduler made for the extended resources of a pod. */
export const EXTENDED_RESOURCE_CLAIM = 'resource.kubernetes.io/extended-resource-claim';

/** A device class stands for the resource of this prefix and its own name, whether or not it names another. */
export const DEVICE_CLASS_RESOURCES = 'deviceclass.resource.kubernetes.io/';

/** Name of the claim of a pod; undefined while it is still to be made from its template. */
export function claimNameOf(pod: Pod, podClaim: PodResourceClaim): string | undefined {
  if (podClaim.resourceClaimName !== undefined) return podClaim.resourceClaimName;
  return pod.status?.resourceClaimStatuses?.find(({ name }) => name === podClaim.name)?.resourceClaimName;
}

/** Names of all claims of the pod there are, with the one for its extended resources. Upstream: resourceclaim.PodClaims. */
export function claimNamesOf(pod: Pod): string[] {
  const named = (pod.spec?.resourceClaims ?? []).map((podClaim) => claimNameOf(pod, podClaim));
  const extended = pod.status?.extendedResourceClaimStatus?.resourceClaimName;
  return [...named, extended].filter((name) => name !== undefined);
}

/** Whether the scheduler has found devices in a claim for the resource, of the pod or of one of its containers. */
export function isServedByClaim({ status }: Pod, resource: string, container?: string): boolean {
  const mappings = status?.extendedResourceClaimStatus?.requestMappings ?? [];
  return mappings.some(
    ({ resourceName, containerName }) =>
      resourceName === resource && (container === undefined || containerName === container),
  );
}

/** Whether a request that tolerates this may have, or keep, a device with the taint. */
export function toleratesDeviceTaint(toleration: DeviceToleration, { key, value = '', effect }: DeviceTaint): boolean {
  return (
    ((toleration.key ?? '') === '' ? toleration.operator === 'Exists' : toleration.key === key) &&
    ((toleration.effect ?? '') === '' || toleration.effect === effect) &&
    (toleration.operator === 'Exists' || (toleration.value ?? '') === value)
  );
}
