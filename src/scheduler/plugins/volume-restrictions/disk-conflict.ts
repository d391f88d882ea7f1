/**
 * Disks that two pods on one node may not share (NoDiskConflict): GCE disks and iSCSI and RBD images unless both pods
 * mount them read-only; AWS disks never. Pure. Upstream: volumerestrictions.isVolumeConflict.
 */
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
  const [few, many] = [disksOf(pod), disksOf(other)].sort((a, b) => a.size - b.size) as [Disks, Disks];
  for (const [disk, reads] of few) {
    const others = many.get(disk);
    if (others !== undefined && !(reads && others)) return true;
  }
  return false;
}

/** Disks by their identity, and whether all volumes of the pod mount them read-only. */
type Disks = ReadonlyMap<string, boolean>;

const none: Disks = new Map();
const cache = new WeakMap<readonly Volume[], Disks>();

/** The disks of a pod. Each pod's volumes are walked once, since pairs of volumes multiply. */
function disksOf({ spec }: Stored<Pod>): Disks {
  const { volumes = [] } = spec ?? {};
  let disks = cache.get(volumes);
  if (disks !== undefined) return disks;
  const readOnlyByDisk = new Map<string, boolean>();
  for (const volume of volumes)
    for (const { disk, reads } of disksOfVolume(volume))
      readOnlyByDisk.set(disk, reads && readOnlyByDisk.get(disk) !== false);
  disks = readOnlyByDisk.size === 0 ? none : readOnlyByDisk;
  cache.set(volumes, disks);
  return disks;
}

interface Disk {
  readonly disk: string;
  readonly reads: boolean;
}

/** An RBD image is listed once for each of its monitors: two images are the same where they share a monitor. */
function disksOfVolume({ gcePersistentDisk, awsElasticBlockStore, iscsi, rbd }: Volume): Disk[] {
  if (gcePersistentDisk !== undefined)
    return [{ disk: `gce ${gcePersistentDisk.pdName}`, reads: gcePersistentDisk.readOnly === true }];
  if (awsElasticBlockStore !== undefined) return [{ disk: `aws ${awsElasticBlockStore.volumeID}`, reads: false }];
  if (iscsi !== undefined) return [{ disk: `iscsi ${iscsi.iqn}`, reads: iscsi.readOnly === true }];
  if (rbd === undefined) return [];
  const { pool = 'rbd', image, monitors, readOnly } = rbd;
  return monitors.map((monitor) => ({
    disk: `rbd ${JSON.stringify([pool, image, monitor])}`,
    reads: readOnly === true,
  }));
}
