/**
 * Translates volume types that used to be built in to volumes of the CSI drivers that replaced them. Pure. Upstream:
 * k8s.io/csi-translation-lib.
 */
import type {
  AzureFilePersistentVolumeSource,
  AzureFileVolumeSource,
  CSIPersistentVolumeSource,
  PersistentVolume,
  PersistentVolumeSpec,
  Volume,
} from '../api/gen/core-v1.ts';

const MIGRATED_TYPES = [
  'awsElasticBlockStore',
  'azureDisk',
  'azureFile',
  'cinder',
  'gcePersistentDisk',
  'portworxVolume',
  'vsphereVolume',
] as const;

const isMigratedType: ReadonlySet<string> = new Set(MIGRATED_TYPES);

/** The migrated fields that pods and persistent volumes have in common. */
type MigratedSources = Pick<PersistentVolumeSpec, (typeof MIGRATED_TYPES)[number]>;

const ZONE_LABELS = ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'] as const;

/** The CSI source of a persistent volume, its own or the translation of a migrated type; undefined: none. */
export function csiSourceOf(volume: PersistentVolume | undefined): CSIPersistentVolumeSource | undefined {
  const { spec } = volume ?? {};
  if (spec === undefined || spec.csi !== undefined) return spec?.csi;
  const { namespace = 'default', name = '' } = spec.claimRef ?? {};
  return translate(spec, { zones: zonesOf(volume), namespace, unique: `${name}` });
}

/** A pod's volume as a persistent volume; undefined when its type is not migrated. */
export function migratedInlineVolume(volume: Volume, podNamespace: string): PersistentVolume | undefined {
  // Runs for every volume of every pod: its two keys are fewer than the types to try.
  if (!Object.keys(volume).some((key) => isMigratedType.has(key))) return undefined;
  const sources = volume as MigratedSources & Volume;
  const csi = translate(sources, { zones: [], namespace: podNamespace, unique: volume.name });
  if (csi === undefined) return undefined;
  const shared = volume.azureFile !== undefined;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `${csi.driver}-${volume.azureDisk?.diskName ?? idOf(sources) ?? csi.volumeHandle}` },
    spec: { csi, accessModes: [shared ? 'ReadWriteMany' : 'ReadWriteOnce'] },
  };
}

function idOf(volume: MigratedSources): string | undefined {
  return (
    volume.awsElasticBlockStore?.volumeID ??
    volume.gcePersistentDisk?.pdName ??
    volume.cinder?.volumeID ??
    volume.portworxVolume?.volumeID ??
    volume.vsphereVolume?.volumePath
  );
}

interface VolumeContext {
  readonly zones: readonly string[];
  readonly namespace: string;
  /** Distinguishes two uses of one file share. */
  readonly unique: string;
}

function translate(from: MigratedSources, around: VolumeContext): CSIPersistentVolumeSource | undefined {
  const { awsElasticBlockStore: ebs, gcePersistentDisk: gce, azureDisk, cinder } = from;
  if (ebs !== undefined)
    return source(['ebs.csi.aws.com', ebsHandle(ebs.volumeID)], ebs, { partition: partitionText(ebs.partition) });
  if (gce !== undefined)
    return source(['pd.csi.storage.gke.io', gceHandle(gce.pdName, around.zones)], gce, {
      partition: partitionText(gce.partition),
    });
  if (azureDisk !== undefined)
    return source(['disk.csi.azure.com', azureDisk.diskURI], azureDisk, {
      ...(azureDisk.cachingMode === undefined ? {} : { cachingMode: azureDisk.cachingMode }),
      ...(azureDisk.fsType === undefined ? {} : { fsType: azureDisk.fsType }),
      kind: 'Managed',
    });
  if (cinder !== undefined) return source(['cinder.csi.openstack.org', cinder.volumeID], cinder, {});
  return translateRest(from, around);
}

function translateRest(from: MigratedSources, around: VolumeContext): CSIPersistentVolumeSource | undefined {
  const { azureFile, vsphereVolume, portworxVolume } = from;
  if (azureFile !== undefined) return azureFileSource(azureFile, around);
  if (vsphereVolume !== undefined) {
    const { volumePath, storagePolicyName } = vsphereVolume;
    return source(['csi.vsphere.vmware.com', volumePath], vsphereVolume, {
      initialvolumefilepath: volumePath,
      ...(storagePolicyName === undefined ? {} : { storagepolicyname: storagePolicyName }),
    });
  }
  return portworxVolume && source(['pxd.portworx.com', portworxVolume.volumeID], portworxVolume, {});
}

function source(
  [driver, volumeHandle]: readonly [driver: string, volumeHandle: string],
  { fsType, readOnly }: { readonly fsType?: string; readonly readOnly?: boolean },
  volumeAttributes: Record<string, string>,
): CSIPersistentVolumeSource {
  return {
    driver,
    volumeHandle,
    ...(fsType === undefined ? {} : { fsType }),
    ...(readOnly === undefined ? {} : { readOnly }),
    ...(Object.keys(volumeAttributes).length === 0 ? {} : { volumeAttributes }),
  };
}

function partitionText(partition = 0): string {
  return partition === 0 ? '' : String(partition);
}

/** `aws://zone/vol-1` and `vol-1` are the same volume. */
function ebsHandle(volumeId: string): string {
  return volumeId.startsWith('aws://') ? volumeId.slice(volumeId.lastIndexOf('/') + 1) : volumeId;
}

function gceHandle(disk: string, zones: readonly string[]): string {
  if (zones.length > 1) return `projects/UNSPECIFIED/regions/${zones[0]!.replace(/-[^-]*$/, '')}/disks/${disk}`;
  return `projects/UNSPECIFIED/zones/${zones[0] ?? 'UNSPECIFIED'}/disks/${disk}`;
}

function zonesOf(volume: PersistentVolume | undefined): readonly string[] {
  const labels = volume?.metadata.labels ?? {};
  const text = ZONE_LABELS.map((label) => labels[label]).find((value) => value !== undefined);
  return text === undefined ? [] : text.split('__');
}

function azureFileSource(
  file: AzureFileVolumeSource & AzureFilePersistentVolumeSource,
  { namespace, unique }: VolumeContext,
): CSIPersistentVolumeSource {
  const account = /^azure-storage-account-(.+)-secret$/.exec(file.secretName)?.[1] ?? file.secretName;
  const secretNamespace = file.secretNamespace ?? namespace;
  return {
    ...source(['file.csi.azure.com', `#${account}#${file.shareName}##${unique}`], file, { shareName: file.shareName }),
    nodeStageSecretRef: { name: file.secretName, namespace: secretNamespace },
  };
}
