/** Explains persistent volume claims of a pod that are missing or not bound. */
import { PersistentVolumeClaims } from '../../api/gen/resources.ts';
import type { PersistentVolumeClaim, Pod, Volume } from '../../api/gen/core-v1.ts';
import { appendAll } from '../../base/lists.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause } from '../explanation.ts';
import { inNamespace, nameOf, nameOfObject } from '../object-name.ts';

/** A claim by its name. The claim of an ephemeral volume is created for the pod, which owns it. */
export interface PodClaim {
  readonly name: string;
  readonly isEphemeral: boolean;
}

export function claimsOfVolumes(pod: Pod, volumes: readonly Volume[]): readonly PodClaim[] {
  return volumes.flatMap(({ name, persistentVolumeClaim, ephemeral }): readonly PodClaim[] => {
    if (ephemeral !== undefined) return [{ name: `${pod.metadata.name}-${name}`, isEphemeral: true }];
    return persistentVolumeClaim === undefined ? [] : [{ name: persistentVolumeClaim.claimName, isEphemeral: false }];
  });
}

/** The causes of the claim itself, or the claim when it has none. Neither when the caller may not read it. */
export async function lookUpClaim(
  pod: Pod,
  { name, isEphemeral }: PodClaim,
  evidence: Evidence,
): Promise<{ readonly causes: readonly Cause[]; readonly claim?: PersistentVolumeClaim }> {
  const { namespace = '', uid } = pod.metadata;
  const { object: claim, missing } = await evidence.get(PersistentVolumeClaims, { namespace, name });
  if (missing) return { causes: [missingCause(namespace, name, isEphemeral)] };
  if (claim === undefined) return { causes: [] };
  if (isEphemeral && controllerOf(claim)?.uid !== uid) return { causes: [foreignCause(claim)] };
  return { causes: [], claim };
}

function missingCause(namespace: string, name: string, isEphemeral: boolean): Cause {
  const text = isEphemeral
    ? 'see whether the controller manager runs, which makes the claims of ephemeral volumes'
    : `create persistent volume claim ${name} in namespace ${namespace}`;
  return cause({
    code: 'ClaimMissing',
    object: nameOf(PersistentVolumeClaims, { namespace, name }),
    message: `claim ${name} does not exist`,
    cure: { text },
  });
}

function foreignCause(claim: PersistentVolumeClaim): Cause {
  const object = nameOfObject(PersistentVolumeClaims, claim);
  return cause({
    code: 'ClaimNotOwned',
    object,
    message: `claim ${object.name} has the name of the claim of its ephemeral volume, and was not made for it`,
    cure: {
      text: 'give the pod another name, or delete the claim if nobody needs its data',
      command: `kubectl get pvc ${object.name}${inNamespace(object)}`,
    },
  });
}

/** Claims that are missing, or that wait for something other than the scheduling of this pod. */
export async function unboundClaimCauses(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  const causes: Cause[] = [];
  for (const one of claimsOfVolumes(pod, pod.spec?.volumes ?? [])) {
    const { causes: found, claim } = await lookUpClaim(pod, one, evidence);
    appendAll(causes, found);
    if (claim === undefined || claim.status?.phase === 'Bound') continue;
    const ofClaim = await evidence.causesOf(PersistentVolumeClaims, claim);
    // A claim that waits for the pod's scheduling is not a cause.
    appendAll(
      causes,
      ofClaim.filter(({ code }) => code !== 'WaitsForConsumer'),
    );
  }
  return causes;
}
