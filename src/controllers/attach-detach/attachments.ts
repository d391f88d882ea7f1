/** Which volumes a node needs, and what they are called. Pure. Upstream: attachdetach/populator, volume/csi naming. */
import type { CSIDriver, VolumeAttachment } from '../../api/gen/storage-v1.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/gen/core-v1.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';

/** A volume of a CSI driver that a node is to have. */
export interface WantedVolume {
  readonly volume: PersistentVolume;
  readonly driver: string;
  readonly handle: string;
  /** Who waits for it. */
  readonly pods: Pod[];
}

/** Looks things up. */
export interface VolumeLookup {
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  driver(name: string): CSIDriver | undefined;
}

/** Name of a volume in node status: `kubernetes.io/csi/<driver>^<handle>`. */
export function uniqueVolumeName(driver: string, handle: string): string {
  return `kubernetes.io/csi/${driver}^${handle}`;
}

/** Name of the VolumeAttachment object; drivers and kubelets compute it too. */
export function attachmentName(sha256Hex: (text: string) => string, wanted: WantedVolume, node: string): string {
  return `csi-${sha256Hex(wanted.handle + wanted.driver + node)}`;
}

/** Volumes that pods of a node need attached, by volume name. */
export function wantedVolumes(pods: readonly Pod[], lookup: VolumeLookup): Map<string, WantedVolume> {
  const wanted = new Map<string, WantedVolume>();
  for (const pod of pods) {
    if (isPodTerminal(pod)) continue;
    for (const claimName of claimNames(pod)) {
      const claim = lookup.claim(pod.metadata.namespace ?? '', claimName);
      const volume = lookup.volume(claim?.spec?.volumeName ?? '');
      const csi = volume?.spec?.csi;
      if (claim === undefined || volume === undefined || csi === undefined) continue;
      // A claim that is not bound to this volume, or no longer, gets nothing.
      if (volume.spec?.claimRef?.uid !== claim.metadata.uid) continue;
      if (lookup.driver(csi.driver)?.spec.attachRequired === false) continue;
      const name = volume.metadata.name ?? '';
      const entry = wanted.get(name) ?? { volume, driver: csi.driver, handle: csi.volumeHandle, pods: [] };
      entry.pods.push(pod);
      wanted.set(name, entry);
    }
  }
  return wanted;
}

function claimNames(pod: Pod): string[] {
  return (pod.spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim !== undefined) return [persistentVolumeClaim.claimName];
    return ephemeral === undefined ? [] : [`${pod.metadata.name ?? ''}-${name}`];
  });
}

/** Whether several nodes may have it at once. */
export function isShareable({ spec }: PersistentVolume): boolean {
  return (spec?.accessModes ?? []).some((mode) => mode === 'ReadWriteMany' || mode === 'ReadOnlyMany');
}

/** The attachment object. */
export function newAttachment(name: string, wanted: WantedVolume, nodeName: string): VolumeAttachment {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name },
    spec: { attacher: wanted.driver, nodeName, source: { persistentVolumeName: wanted.volume.metadata.name ?? '' } },
  };
}
