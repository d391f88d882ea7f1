/** The claims a pod uses, looked up. Shared by the volume plugins of the scheduler. */
import type { PersistentVolumeClaim, Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';

export type FindClaim = (namespace: string, name: string) => PersistentVolumeClaim | undefined;

/** A volume of the pod that is a claim. */
export interface PodClaim {
  readonly name: string;
  /** Made for the pod by the ephemeral volume controller. */
  readonly isEphemeral: boolean;
}

/** The claims of a pod, in the order of its volumes. */
export function claimsOf(pod: Stored<Pod>): PodClaim[] {
  return (pod.spec?.volumes ?? []).flatMap((volume): PodClaim[] => {
    if (volume.persistentVolumeClaim !== undefined)
      return [{ name: volume.persistentVolumeClaim.claimName, isEphemeral: false }];
    return volume.ephemeral === undefined ? [] : [{ name: `${pod.metadata.name}-${volume.name}`, isEphemeral: true }];
  });
}

/** Whether the claim is bound for good. */
export function isBound(claim: PersistentVolumeClaim): boolean {
  return (
    (claim.spec?.volumeName ?? '') !== '' &&
    claim.metadata.annotations?.['pv.kubernetes.io/bind-completed'] !== undefined
  );
}

/** Whether the pod uses the claim. */
export function isOwnClaim(pod: Stored<Pod>, claim: unknown): boolean {
  const { metadata } = claim as PersistentVolumeClaim;
  return metadata.namespace === pod.metadata.namespace && claimsOf(pod).some(({ name }) => name === metadata.name);
}
