/**
 * The claims of a StatefulSet's pods, and their owners by the retention policy. Pure. Upstream: statefulset
 * stateful_set_utils.go claimOwnerMatchesSetAndPod, updateClaimOwnerRefForSetAndPod.
 */
import { deepEqual } from '../../base/equal.ts';
import { Pods, StatefulSets } from '../../api/gen/resources.ts';
import type { StatefulSet } from '../../api/gen/apps-v1.ts';
import type { PersistentVolumeClaim, Pod } from '../../api/gen/core-v1.ts';
import type { OwnerReference } from '../../api/gen/meta-v1.ts';
import type { Stored } from '../../api/object.ts';
import { newControllerReference } from '../../component-helpers/owner-references.ts';
import { claimName, inRange, ordinalOf } from './identity.ts';

/** The claim of a template and an ordinal, to be created. */
export function claimFrom(
  set: Stored<StatefulSet>,
  template: PersistentVolumeClaim,
  ordinal: number,
): PersistentVolumeClaim {
  return {
    ...template,
    metadata: {
      ...template.metadata,
      ...claimKey(set, template, ordinal),
      labels: { ...template.metadata.labels, ...set.spec?.selector.matchLabels },
    },
  };
}

export function claimKey(
  set: Stored<StatefulSet>,
  template: PersistentVolumeClaim,
  ordinal: number,
): { readonly namespace: string; readonly name: string } {
  return { namespace: set.metadata.namespace, name: claimName(set, template.metadata.name ?? '', ordinal) };
}

/** Whether a claim belongs to an earlier pod of the same name and is deleted with it, so that no new pod may use it. */
export function isStale(claim: PersistentVolumeClaim, pod: Pod | undefined, podName: string): boolean {
  const owners = claim.metadata.ownerReferences ?? [];
  return owners.some((owner) => owner.kind === 'Pod' && owner.name === podName && owner.uid !== pod?.metadata.uid);
}

/** The desired owners of a claim; undefined when nothing changes. Claims with another controller are left alone. */
export function claimOwners(
  set: Stored<StatefulSet>,
  pod: Stored<Pod>,
  claim: PersistentVolumeClaim,
): OwnerReference[] | undefined {
  const current = claim.metadata.ownerReferences ?? [];
  const isSet = (owner: OwnerReference): boolean => owner.uid === set.metadata.uid;
  const isPod = (owner: OwnerReference): boolean => owner.kind === 'Pod' && owner.name === pod.metadata.name;
  if (current.some((owner) => owner.controller === true && !isSet(owner) && !isPod(owner))) return undefined;
  const { whenScaled, whenDeleted } = set.spec?.persistentVolumeClaimRetentionPolicy ?? {};
  const scaledDown = !inRange(set, ordinalOf(pod));
  const wanted = current.filter((owner) => !isSet(owner) && !isPod(owner));
  if (whenScaled === 'Delete' && scaledDown) wanted.push(newControllerReference(pod, Pods));
  else if (whenDeleted === 'Delete') wanted.push(newControllerReference(set, StatefulSets));
  return sameOwners(current, wanted) ? undefined : wanted;
}

function sameOwners(a: readonly OwnerReference[], b: readonly OwnerReference[]): boolean {
  const uids = (owners: readonly OwnerReference[]): string[] => owners.map((owner) => owner.uid).sort();
  return deepEqual(uids(a), uids(b));
}
