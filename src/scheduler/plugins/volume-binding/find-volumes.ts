/**
 * Finds volumes for a pod's unbound claims on a node: existing volumes first, the smallest that suffices, then the
 * class's provisioner, where topology and capacity allow it. Pure apart from lookups. Upstream:
 * volumebinding/binder.go (FindPodVolumes) and component-helpers/storage/volume.FindMatchingVolume.
 */
import { compileLabelSelector } from '../../../api/label-selector.ts';
import type { Node, PersistentVolume, PersistentVolumeClaim } from '../../../api/gen/core-v1.ts';
import type { StorageClass } from '../../../api/gen/storage-v1.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import type { Stored } from '../../../api/object.ts';
import { NO_PROVISIONER } from '../../../component-helpers/no-provisioner.ts';
import { someTermMatches } from '../../../component-helpers/node-affinity.ts';
import type { VolumeObjects } from './volume-objects.ts';
import { requestedStorage } from '../../../component-helpers/claim-size.ts';

/** An existing volume chosen for a claim. */
export interface StaticBinding {
  readonly claim: Stored<PersistentVolumeClaim>;
  readonly volume: Stored<PersistentVolume>;
}

/** How a pod's claims are bound on a node. */
export interface PodVolumes {
  readonly bindings: readonly StaticBinding[];
  readonly provisioned: readonly Stored<PersistentVolumeClaim>[];
}

/** Why the node has no volume for the pod. */
export type VolumeRefusal = 'no volume' | 'no capacity';

const SELECTED_NODE = 'volume.kubernetes.io/selected-node';

/** `taken`: names of volumes that are assumed for other claims. */
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

function bySize(a: Stored<PersistentVolumeClaim>, b: Stored<PersistentVolumeClaim>): number {
  return compareQuantities(requestedStorage(a), requestedStorage(b));
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
    const isPreBound = claimRef?.namespace === metadata.namespace && claimRef?.name === metadata.name;
    const suits =
      own !== undefined &&
      volume.metadata.deletionTimestamp === undefined &&
      !used(volume.metadata.name) &&
      (claimRef === undefined
        ? isAvailable(volume)
        : isPreBound && (claimRef.uid === undefined || claimRef.uid === metadata.uid)) &&
      (own.volumeMode ?? 'Filesystem') === (spec?.volumeMode ?? 'Filesystem') &&
      (own.volumeAttributesClassName ?? '') === (spec?.volumeAttributesClassName ?? '') &&
      (spec?.accessModes ?? []).every((mode) => own.accessModes?.includes(mode) === true) &&
      compareQuantities(own.capacity?.['storage'] ?? '0', requestedStorage(claim)) >= 0 &&
      (selector === undefined || selector.matches(volume.metadata.labels)) &&
      admitsNode(volume, node);
    if (!suits) continue;
    if (isPreBound) return volume;
    if (
      best === undefined ||
      compareQuantities(own.capacity?.['storage'] ?? '0', best.spec?.capacity?.['storage'] ?? '0') < 0
    )
      best = volume;
  }
  return best;
}

/**
 * Whether the volume controller has marked the volume as available. Earlier, and after its claim was deleted, it must
 * not be bound.
 */
function isAvailable({ status }: Stored<PersistentVolume>): boolean {
  return status?.phase === 'Available';
}

/** Whether the volume's node affinity admits the node. */
export function admitsNode(volume: Stored<PersistentVolume>, node: Stored<Node>): boolean {
  const required = volume.spec?.nodeAffinity?.required;
  return required === undefined || someTermMatches(required.nodeSelectorTerms, node);
}

function provisions({ provisioner }: StorageClass): boolean {
  return provisioner !== '' && provisioner !== NO_PROVISIONER;
}

function topologyAllowed({ allowedTopologies = [] }: StorageClass, { metadata }: Stored<Node>): boolean {
  return (
    allowedTopologies.length === 0 ||
    allowedTopologies.some(({ matchLabelExpressions = [] }) =>
      matchLabelExpressions.every(({ key, values }) => values.includes(metadata.labels?.[key] ?? '')),
    )
  );
}

/** Whether the driver's published capacity suffices; drivers that publish none always pass. */
function hasCapacity(
  objects: VolumeObjects,
  { claim, storageClass }: { claim: Stored<PersistentVolumeClaim>; storageClass: StorageClass },
  { metadata }: Stored<Node>,
): boolean {
  if (objects.csiDriver(storageClass.provisioner)?.spec.storageCapacity !== true) return true;
  const size = requestedStorage(claim);
  return objects.storageCapacities().some(({ storageClassName, capacity, maximumVolumeSize, nodeTopology }) => {
    const limit = maximumVolumeSize ?? capacity;
    if (storageClassName !== storageClass.metadata.name || limit === undefined) return false;
    if (compareQuantities(limit, size) < 0 || nodeTopology === undefined) return false;
    return compileLabelSelector(nodeTopology).matches(metadata.labels);
  });
}
