/**
 * The finalizer that keeps an in-tree volume until its storage is gone. Upstream: persistentvolume, modifyDeletionFinalizers.
 * Pure.
 */
import type { PersistentVolume } from '../../api/gen/core-v1.ts';

const IN_TREE = 'kubernetes.io/pv-controller';
const EXTERNAL = 'external-provisioner.volume.kubernetes.io/finalizer';
const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';
/** Volumes of these plugins are deleted by CSI drivers, which have a finalizer of their own. */
const MIGRATED = ['aws-ebs', 'azure-disk', 'azure-file', 'cinder', 'gce-pd', 'portworx-volume', 'vsphere-volume'];

/** The finalizers a volume should have; undefined: those it has. */
export function wantedFinalizers({ metadata, spec }: PersistentVolume): string[] | undefined {
  const [prefix, plugin = ''] = (metadata.annotations?.[PROVISIONED_BY] ?? '').split('/');
  if (prefix !== 'kubernetes.io') return undefined;
  const held = metadata.finalizers ?? [];
  const without = (...names: string[]): string[] => held.filter((finalizer) => !names.includes(finalizer));
  let wanted = without(IN_TREE);
  if (!MIGRATED.includes(plugin)) {
    wanted = spec?.persistentVolumeReclaimPolicy === 'Delete' ? without(EXTERNAL) : without(EXTERNAL, IN_TREE);
    // A volume that is being deleted takes no new finalizers.
    const add = spec?.persistentVolumeReclaimPolicy === 'Delete' && metadata.deletionTimestamp === undefined;
    if (add && !held.includes(IN_TREE)) wanted.push(IN_TREE);
  }
  return wanted.length === held.length && wanted.every((finalizer) => held.includes(finalizer)) ? undefined : wanted;
}
