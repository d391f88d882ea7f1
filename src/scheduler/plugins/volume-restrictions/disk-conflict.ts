/** Disks that two pods of one node may not share (NoDiskConflict): GCE disks and iSCSI and RBD images unless both only read, AWS disks never. Pure. Upstream: volumerestrictions.isVolumeConflict. */
import type { Pod, Volume } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';

/** Whether the pod has a volume that may conflict at all. */
export function hasExclusiveDisk(pod: Stored<Pod>): boolean {
  return (pod.spec?.volumes ?? []).some(
    (v) =>
      v.gcePersistentDisk !== undefined ||
      v.awsElasticBlockStore !== undefined ||
      v.rbd !== undefined ||
      v.iscsi !== undefined,
  );
}

/** Whether a volume of the one pod excludes a volume of the other. */
export function disksConflict(pod: Stored<Pod>, other: Stored<Pod>): boolean {
  const theirs = other.spec?.volumes ?? [];
  return theirs.length > 0 && (pod.spec?.volumes ?? []).some((own) => theirs.some((one) => volumesConflict(own, one)));
}

function volumesConflict(a: Volume, b: Volume): boolean {
  if (a.gcePersistentDisk !== undefined && b.gcePersistentDisk !== undefined)
    return (
      a.gcePersistentDisk.pdName === b.gcePersistentDisk.pdName && !bothRead(a.gcePersistentDisk, b.gcePersistentDisk)
    );
  if (a.awsElasticBlockStore !== undefined && b.awsElasticBlockStore !== undefined)
    return a.awsElasticBlockStore.volumeID === b.awsElasticBlockStore.volumeID;
  if (a.iscsi !== undefined && b.iscsi !== undefined) return a.iscsi.iqn === b.iscsi.iqn && !bothRead(a.iscsi, b.iscsi);
  if (a.rbd === undefined || b.rbd === undefined) return false;
  const { monitors } = b.rbd;
  return (
    a.rbd.monitors.some((monitor) => monitors.includes(monitor)) &&
    (a.rbd.pool ?? 'rbd') === (b.rbd.pool ?? 'rbd') &&
    a.rbd.image === b.rbd.image &&
    !bothRead(a.rbd, b.rbd)
  );
}

function bothRead(a: { readonly readOnly?: boolean }, b: { readonly readOnly?: boolean }): boolean {
  return a.readOnly === true && b.readOnly === true;
}
