/** Which volume is bound to a claim. Pure. Upstream: component-helpers/storage/volume FindMatchingVolume, pv index. */
import { compileLabelSelector } from '../../api/label-selector.ts';
import { compareQuantities } from '../../api/quantity.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { requestedStorage } from '../../component-helpers/claim-size.ts';

/** Annotations of the binding, which schedulers and provisioners share. */
export const BIND_COMPLETED = 'pv.kubernetes.io/bind-completed';
export const BOUND_BY_CONTROLLER = 'pv.kubernetes.io/bound-by-controller';

/** The class of a claim or volume; '' for none. */
export function classOf(object: {
  readonly metadata: PersistentVolume['metadata'];
  readonly spec?: { readonly storageClassName?: string };
}): string {
  return (
    object.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? object.spec?.storageClassName ?? ''
  );
}

/** Whether the volume's claimRef names this claim. */
export function refersTo(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const ref = volume.spec?.claimRef;
  if (ref === undefined || ref.name !== claim.metadata.name || ref.namespace !== claim.metadata.namespace) return false;
  return (ref.uid ?? '') === '' || ref.uid === claim.metadata.uid;
}

/** The status of a claim when it is bound. Later, other components resize and modify it. */
export function firstSeen(
  { spec }: PersistentVolume,
  claim: PersistentVolumeClaim,
): Pick<NonNullable<PersistentVolumeClaim['status']>, 'capacity' | 'currentVolumeAttributesClassName'> {
  if (claim.status?.phase === 'Bound') return {};
  const { capacity, volumeAttributesClassName } = spec ?? {};
  return {
    ...(capacity === undefined ? {} : { capacity: { ...capacity } }),
    ...(volumeAttributesClassName === undefined ? {} : { currentVolumeAttributesClassName: volumeAttributesClassName }),
  };
}

/** Why a claim cannot be bound to the volume it names, in upstream's words. */
export function mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  if (volume.metadata.deletionTimestamp !== undefined)
    return `the volume is marked for deletion ${JSON.stringify(volume.metadata.name)}`;
  const requested = requestedStorage(claim);
  if (compareQuantities(volume.spec?.capacity?.['storage'] ?? '0', requested) < 0) return 'requested PV is too small';
  if (classOf(volume) !== classOf(claim)) return 'storageClassName does not match';
  if (attributesOf(volume) !== attributesOf(claim)) return 'volumeAttributesClassName does not match';
  if (modeOf(volume) !== modeOf(claim)) return 'incompatible volumeMode';
  if (!hasAccessModes(volume, claim)) return 'incompatible accessMode';
  return undefined;
}

function attributesOf(object: { readonly spec?: { readonly volumeAttributesClassName?: string } }): string {
  return object.spec?.volumeAttributesClassName ?? '';
}

function modeOf(object: { readonly spec?: { readonly volumeMode?: string } }): string {
  return object.spec?.volumeMode ?? 'Filesystem';
}

function hasAccessModes(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const offered = volume.spec?.accessModes ?? [];
  return (claim.spec?.accessModes ?? []).every((mode) => offered.includes(mode));
}

/**
 * The volume for an unbound claim: one reserved for it; otherwise, among those with the fewest access modes beyond
 * the requested ones, the smallest that suffices. With `delayed` only a reserved one, as the scheduler chooses.
 */
export function findVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly Stored<PersistentVolume>[],
  delayed: boolean,
): Stored<PersistentVolume> | undefined {
  const usable = volumes.filter(
    (volume) =>
      volume.metadata.deletionTimestamp === undefined &&
      modeOf(volume) === modeOf(claim) &&
      hasAccessModes(volume, claim) &&
      attributesOf(volume) === attributesOf(claim),
  );
  const requested = requestedStorage(claim);
  const size = (volume: PersistentVolume): string => volume.spec?.capacity?.['storage'] ?? '0';
  const fits = (volume: PersistentVolume): boolean => compareQuantities(size(volume), requested) >= 0;
  const reserved = usable.find((volume) => refersTo(volume, claim) && fits(volume));
  if (reserved !== undefined || delayed) return reserved;
  const selector = claim.spec?.selector === undefined ? undefined : compileLabelSelector(claim.spec.selector);
  const free = usable.filter(
    (volume) =>
      volume.spec?.claimRef === undefined &&
      fits(volume) &&
      classOf(volume) === classOf(claim) &&
      (selector === undefined || selector.matches(volume.metadata.labels)) &&
      volume.status?.phase === 'Available',
  );
  const modes = (volume: PersistentVolume): number => new Set(volume.spec?.accessModes).size;
  const order = (a: Stored<PersistentVolume>, b: Stored<PersistentVolume>): number =>
    modes(a) - modes(b) || compareQuantities(size(a), size(b)) || (a.metadata.name < b.metadata.name ? -1 : 1);
  return free.sort(order)[0];
}
