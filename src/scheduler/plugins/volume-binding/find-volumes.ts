/**
 * Where a pod's unbound claims could get their volumes on a node: volumes made in advance first, the smallest that will do,
 * then the class's provisioner, where topology and free capacity allow it. Pure but for the look-ups. Upstream:
 * volumebinding/binder.go (FindPodVolumes) and component-helpers/storage/volume.FindMatchingVolume.
 */
import { compileLabelSelector } from '../../../api/label-selector.ts';
import type { Node, PersistentVolume, PersistentVolumeClaim } from '../../../api/gen/core-v1.ts';
import type { StorageClass } from '../../../api/gen/storage-v1.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import type { Stored } from '../../../api/object.ts';
import { someTermMatches } from '../../../component-helpers/node-affinity.ts';
import type { VolumeObjects } from './volume-objects.ts';

/** A volume for a claim. */
export interface StaticBinding {
  readonly claim: Stored<PersistentVolumeClaim>;
  readonly volume: Stored<PersistentVolume>;
}

/** What the pod would get on a node. */
export interface PodVolumes {
  readonly bindings: readonly StaticBinding[];
  readonly provisioned: readonly Stored<PersistentVolumeClaim>[];
}

/** Why a node will not do. */
export type VolumeRefusal = 'no volume' | 'no capacity';

const SELECTED_NODE = 'volume.kubernetes.io/selected-node';

/** `taken`: names of volumes promised to other claims. */
export function findPodVolumes(
  objects: VolumeObjects,
  delayed: readonly Stored<PersistentVolumeClaim>[],
  { node, taken }: { node: Stored<Node>; taken: (volume: string) => boolean },
): PodVolumes | VolumeRefusal {
  const bindings: StaticBinding[] = [];
  const provisioned: Stored<PersistentVolumeClaim>[] = [];
  for (const claim of delayed.toSorted(bySize)) {
    const selected = claim.metadata.annotations?.[SELECTED_NODE];
    if (selected !== undefined && selected !== node.metadata.name) return 'no volume';
    const used = (name: string): boolean => taken(name) || bindings.some(({ volume }) => volume.metadata.name === name);
    const volume = selected === undefined ? matchingVolume(objects, claim, { node, used }) : undefined;
    if (volume !== undefined) {
      bindings.push({ claim, volume });
      continue;
    }
    const storageClass = objects.storageClass(claim.spec?.storageClassName ?? '');
    if (storageClass === undefined || !provisions(storageClass) || !topologyAllowed(storageClass, node))
      return 'no volume';
    if (!hasCapacity(objects, { claim, storageClass }, node)) return 'no capacity';
    provisioned.push(claim);
  }
  return { bindings, provisioned };
}

function requestOf(claim: Stored<PersistentVolumeClaim>): string {
  return claim.spec?.resources?.requests?.['storage'] ?? '0';
}

function bySize(a: Stored<PersistentVolumeClaim>, b: Stored<PersistentVolumeClaim>): number {
  return compareQuantities(requestOf(a), requestOf(b));
}

function matchingVolume(
  objects: VolumeObjects,
  claim: Stored<PersistentVolumeClaim>,
  { node, used }: { node: Stored<Node>; used: (volume: string) => boolean },
): Stored<PersistentVolume> | undefined {
  const { spec, metadata } = claim;
  const selector = spec?.selector === undefined ? undefined : compileLabelSelector(spec.selector);
  let best: Stored<PersistentVolume> | undefined;
  for (const volume of objects.volumesOfClass(spec?.storageClassName ?? '')) {
    const own = volume.spec;
    const { claimRef } = own ?? {};
    const promised = claimRef?.namespace === metadata.namespace && claimRef?.name === metadata.name;
    const suits =
      own !== undefined &&
      volume.metadata.deletionTimestamp === undefined &&
      !used(volume.metadata.name) &&
      (claimRef === undefined
        ? isAvailable(volume)
        : promised && (claimRef.uid === undefined || claimRef.uid === metadata.uid)) &&
      (own.volumeMode ?? 'Filesystem') === (spec?.volumeMode ?? 'Filesystem') &&
      (own.volumeAttributesClassName ?? '') === (spec?.volumeAttributesClassName ?? '') &&
      (spec?.accessModes ?? []).every((mode) => own.accessModes?.includes(mode) === true) &&
      compareQuantities(own.capacity?.['storage'] ?? '0', requestOf(claim)) >= 0 &&
      (selector === undefined || selector.matches(volume.metadata.labels)) &&
      reachable(volume, node);
    if (!suits) continue;
    if (promised) return volume;
    if (
      best === undefined ||
      compareQuantities(own.capacity?.['storage'] ?? '0', best.spec?.capacity?.['storage'] ?? '0') < 0
    )
      best = volume;
  }
  return best;
}

/** The binder has seen to it: before that, and after a claim has let go of it, binding would go wrong. */
function isAvailable({ status }: Stored<PersistentVolume>): boolean {
  return status?.phase === 'Available';
}

/** Whether the volume's node affinity allows the node. */
export function reachable(volume: Stored<PersistentVolume>, node: Stored<Node>): boolean {
  const required = volume.spec?.nodeAffinity?.required;
  return required === undefined || someTermMatches(required.nodeSelectorTerms, node);
}

function provisions({ provisioner }: StorageClass): boolean {
  return provisioner !== '' && provisioner !== 'kubernetes.io/no-provisioner';
}

function topologyAllowed({ allowedTopologies = [] }: StorageClass, { metadata }: Stored<Node>): boolean {
  return (
    allowedTopologies.length === 0 ||
    allowedTopologies.some(({ matchLabelExpressions = [] }) =>
      matchLabelExpressions.every(({ key, values }) => values.includes(metadata.labels?.[key] ?? '')),
    )
  );
}

/** Only drivers that publish their capacity are asked. */
function hasCapacity(
  objects: VolumeObjects,
  { claim, storageClass }: { claim: Stored<PersistentVolumeClaim>; storageClass: StorageClass },
  { metadata }: Stored<Node>,
): boolean {
  if (objects.csiDriver(storageClass.provisioner)?.spec.storageCapacity !== true) return true;
  const size = requestOf(claim);
  return objects.storageCapacities().some(({ storageClassName, capacity, maximumVolumeSize, nodeTopology }) => {
    const limit = maximumVolumeSize ?? capacity;
    if (storageClassName !== storageClass.metadata.name || limit === undefined) return false;
    if (compareQuantities(limit, size) < 0 || nodeTopology === undefined) return false;
    return compileLabelSelector(nodeTopology).matches(metadata.labels);
  });
}
