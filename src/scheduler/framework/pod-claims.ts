/** The persistent volume claims that a pod uses. The scheduler's volume plugins share it. */
import type { PersistentVolumeClaim, Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';

export type FindClaim = (namespace: string, name: string) => PersistentVolumeClaim | undefined;

/** A volume of the pod that uses a claim. */
export interface PodClaim {
  readonly name: string;
  /** The ephemeral volume controller creates the claim for the pod. */
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

/** Whether the claim is fully bound. */
export function isBound(claim: PersistentVolumeClaim): boolean {
  return (
    (claim.spec?.volumeName ?? '') !== '' &&
    claim.metadata.annotations?.['pv.kubernetes.io/bind-completed'] !== undefined
  );
}

/** Whether the claim was created for an ephemeral volume of the pod. */
export function isOwnClaim(pod: Stored<Pod>, claim: unknown): boolean {
  const { metadata } = claim as PersistentVolumeClaim;
  return metadata.namespace === pod.metadata.namespace && claimsOf(pod).some(({ name }) => name === metadata.name);
}
