/** The volumes that a node needs, and their names. Pure. Upstream: attachdetach/populator, volume/csi naming. */
import type { CSIDriver, VolumeAttachment } from '../../api/gen/storage-v1.ts';
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod, Volume } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { csiSourceOf, migratedInlineVolume } from '../../component-helpers/csi-translation.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';

const CONTROLLER_MANAGED_ATTACH = 'volumes.kubernetes.io/controller-managed-attach-detach';

/** Whether the controller attaches the node's volumes; otherwise its kubelet does. */
export function isAttachedFor({ metadata }: Node): boolean {
  return metadata.annotations?.[CONTROLLER_MANAGED_ATTACH] !== undefined;
}

/** A CSI volume that a node needs. */
export interface WantedVolume {
  /** The volume's key in this controller. */
  readonly key: string;
  readonly volume: PersistentVolume;
  /** The volume is defined in the pod and has no PersistentVolume. */
  readonly inline: boolean;
  readonly driver: string;
  readonly handle: string;
  /** The pods that wait for the volume. */
  readonly pods: Pod[];
}

/** Looks up claims, volumes and drivers. */
export interface VolumeLookup {
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined;
  volume(name: string): Stored<PersistentVolume> | undefined;
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

/** The key of an attachment's volume here. */
export function volumeKeyOf({ spec }: VolumeAttachment): string {
  const csi = spec.source.inlineVolumeSpec?.csi;
  return csi === undefined ? (spec.source.persistentVolumeName ?? '') : inlineKey(csi.driver, csi.volumeHandle);
}

/** Cannot equal a persistent volume's key, since names contain no blank. */
function inlineKey(driver: string, handle: string): string {
  return `inline ${uniqueVolumeName(driver, handle)}`;
}

/** Volumes that pods of a node need attached, by key. */
export function wantedVolumes(pods: readonly Stored<Pod>[], lookup: VolumeLookup): Map<string, WantedVolume> {
  const wanted = new Map<string, WantedVolume>();
  for (const pod of pods) {
    if (isPodTerminal(pod)) continue;
    for (const described of pod.spec?.volumes ?? []) {
      const found = wantedVolume(pod, described, lookup);
      if (found === undefined || lookup.driver(found.driver)?.spec.attachRequired === false) continue;
      const entry = wanted.get(found.key) ?? { ...found, pods: [] };
      entry.pods.push(pod);
      wanted.set(found.key, entry);
    }
  }
  return wanted;
}

/** The references of a pod's volumes, claims and inline volumes; other pods' volumes are found by them. */
export function referencesOf(pod: Stored<Pod>): string[] {
  return (pod.spec?.volumes ?? []).flatMap((described) => referenceOf(pod, described) ?? []);
}

function referenceOf(pod: Stored<Pod>, described: Volume): string | undefined {
  const { namespace } = pod.metadata;
  const claimName = claimNameOf(pod, described);
  if (claimName !== undefined) return claimReference(namespace, claimName);
  const csi = migratedInlineVolume(described, namespace)?.spec?.csi;
  return csi === undefined ? undefined : inlineKey(csi.driver, csi.volumeHandle);
}

/**
 * Cannot equal another reference: driver and claim names have no slash, and inline volumes begin with a word and a
 * blank.
 */
function claimReference(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** The reference of pods that use a persistent volume. */
export function referenceTo({ spec }: PersistentVolume): string {
  const { namespace = '', name = '' } = spec?.claimRef ?? {};
  return claimReference(namespace, name);
}

/** The volume with this reference, where the pod needs it attached. */
export function wantedByReference(
  pod: Stored<Pod>,
  reference: string,
  lookup: VolumeLookup,
): Omit<WantedVolume, 'pods'> | undefined {
  const described = (pod.spec?.volumes ?? []).find((volume) => referenceOf(pod, volume) === reference);
  const found = described === undefined || isPodTerminal(pod) ? undefined : wantedVolume(pod, described, lookup);
  return found === undefined || lookup.driver(found.driver)?.spec.attachRequired === false ? undefined : found;
}

/**
 * The volume that the pod's volume refers to, whether it needs to be attached or not; undefined for other than CSI
 * volumes and unbound claims.
 */
export function wantedVolume(
  pod: Stored<Pod>,
  described: Volume,
  lookup: VolumeLookup,
): Omit<WantedVolume, 'pods'> | undefined {
  const namespace = pod.metadata.namespace;
  const claimName = claimNameOf(pod, described);
  if (claimName === undefined) {
    const volume = migratedInlineVolume(described, namespace);
    const csi = volume?.spec?.csi;
    if (volume === undefined || csi === undefined) return undefined;
    const { driver, volumeHandle: handle } = csi;
    return { key: inlineKey(driver, handle), volume, inline: true, driver, handle };
  }
  const claim = lookup.claim(namespace, claimName);
  const volume = lookup.volume(claim?.spec?.volumeName ?? '');
  const csi = csiSourceOf(volume);
  // The claim is not, or no longer, bound to this volume.
  if (claim === undefined || volume === undefined || csi === undefined) return undefined;
  if (volume.spec?.claimRef?.uid !== claim.metadata.uid) return undefined;
  return { key: volume.metadata.name, volume, inline: false, driver: csi.driver, handle: csi.volumeHandle };
}

function claimNameOf(pod: Stored<Pod>, { name, persistentVolumeClaim, ephemeral }: Volume): string | undefined {
  if (persistentVolumeClaim !== undefined) return persistentVolumeClaim.claimName;
  return ephemeral === undefined ? undefined : `${pod.metadata.name}-${name}`;
}

/** Whether several nodes may attach it at once. */
export function isShareable({ spec }: PersistentVolume): boolean {
  return (spec?.accessModes ?? []).some((mode) => mode === 'ReadWriteMany' || mode === 'ReadOnlyMany');
}

/** The attachment object. */
export function newAttachment(name: string, wanted: WantedVolume, nodeName: string): VolumeAttachment {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name },
    spec: {
      attacher: wanted.driver,
      nodeName,
      source: wanted.inline
        ? { inlineVolumeSpec: wanted.volume.spec ?? {} }
        : { persistentVolumeName: wanted.volume.metadata.name ?? '' },
    },
  };
}
