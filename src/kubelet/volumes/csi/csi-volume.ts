/**
 * The parameters of a CSI volume's requests, computed from pod, volume and CSIDriver. Pure. Upstream:
 * pkg/volume/csi/csi_mounter.go, csi_client.go.
 */
import type { CSIPersistentVolumeSource, CSIVolumeSource, PersistentVolume, Pod } from '../../../api/gen/core-v1.ts';
import type { CSIDriver } from '../../../api/gen/storage-v1.ts';
import { secretKeyOf, type SecretKey } from '../secret-values.ts';
import type { VolumeSpec } from '../volume-plugin.ts';
import type { VolumeCapability } from './csi-client.ts';

/** A volume of a CSI driver for one pod. */
export interface CsiVolume {
  readonly mode: 'Persistent' | 'Ephemeral';
  readonly driver: string;
  readonly handle: string;
  readonly fsType: string;
  readonly readOnly: boolean;
  readonly block: boolean;
  readonly accessModes: readonly string[];
  readonly mountOptions: readonly string[];
  readonly attributes: Readonly<Record<string, string>>;
  readonly stageSecret: SecretKey | undefined;
  readonly publishSecret: SecretKey | undefined;
  readonly expandSecret: SecretKey | undefined;
}

export function csiVolumeOf(pod: Pod, spec: VolumeSpec, sha256Hex: (text: string) => string): CsiVolume {
  const { csi, persistentCsi } = spec.source;
  if (persistentCsi !== undefined) return persistent(spec, persistentCsi);
  return inline(pod, { spec, csi: csi!, sha256Hex });
}

function persistent(spec: VolumeSpec, csi: CSIPersistentVolumeSource): CsiVolume {
  const { accessModes = [], mountOptions = [], volumeMode } = spec.persistentVolume?.spec ?? {};
  return {
    mode: 'Persistent',
    driver: csi.driver,
    handle: csi.volumeHandle,
    fsType: csi.fsType ?? '',
    readOnly: spec.readOnly,
    block: volumeMode === 'Block',
    accessModes,
    mountOptions,
    attributes: csi.volumeAttributes ?? {},
    stageSecret: secretKeyOf(csi.nodeStageSecretRef),
    publishSecret: secretKeyOf(csi.nodePublishSecretRef),
    expandSecret: secretKeyOf(csi.nodeExpandSecretRef),
  };
}

function inline(
  pod: Pod,
  { spec, csi, sha256Hex }: { spec: VolumeSpec; csi: CSIVolumeSource; sha256Hex: (text: string) => string },
): CsiVolume {
  const { namespace = '', uid = '' } = pod.metadata;
  return {
    mode: 'Ephemeral',
    driver: csi.driver,
    handle: `csi-${sha256Hex(`${uid}${spec.name}`)}`,
    fsType: csi.fsType ?? '',
    readOnly: csi.readOnly ?? false,
    block: false,
    accessModes: ['ReadWriteOnce'],
    mountOptions: [],
    attributes: csi.volumeAttributes ?? {},
    stageSecret: undefined,
    publishSecret: secretKeyOf(csi.nodePublishSecretRef, namespace),
    expandSecret: undefined,
  };
}

/** Throws for a driver that does not support the volume's lifecycle mode. Upstream: supportsVolumeLifecycleMode. */
export function checkLifecycleMode({ mode, driver }: CsiVolume, object: CSIDriver | undefined): void {
  const modes = object?.spec.volumeLifecycleModes ?? ['Persistent'];
  if (modes.includes(mode)) return;
  throw new Error(
    object === undefined
      ? `volume mode "${mode}" not supported by driver ${driver} (no CSIDriver object)`
      : `volume mode "${mode}" not supported by driver ${driver} (only supports ${JSON.stringify(modes)})`,
  );
}

const SINGLE_NODE_MODES: Readonly<Record<string, readonly [plain: string, multiWriter: string]>> = {
  ReadWriteOnce: ['SINGLE_NODE_WRITER', 'SINGLE_NODE_MULTI_WRITER'],
  ReadOnlyMany: ['MULTI_NODE_READER_ONLY', 'MULTI_NODE_READER_ONLY'],
  ReadWriteMany: ['MULTI_NODE_MULTI_WRITER', 'MULTI_NODE_MULTI_WRITER'],
  ReadWriteOncePod: ['SINGLE_NODE_WRITER', 'SINGLE_NODE_SINGLE_WRITER'],
};

/** The volume capability; `group` only for drivers that apply it themselves. */
export function volumeCapability(
  volume: CsiVolume,
  options: { readonly multiWriter: boolean; readonly group: number | undefined; readonly seLinuxContext: string },
): VolumeCapability {
  const [plain, multiWriter] = SINGLE_NODE_MODES[volume.accessModes[0] ?? 'ReadWriteOnce'] ?? ['UNKNOWN', 'UNKNOWN'];
  const accessMode = { mode: options.multiWriter ? multiWriter : plain };
  if (volume.block) return { block: {}, accessMode };
  const context = options.seLinuxContext === '' ? [] : [`context="${options.seLinuxContext}"`];
  const mount = {
    fsType: volume.fsType,
    mountFlags: [...volume.mountOptions, ...context],
    volumeMountGroup: options.group === undefined ? '' : String(options.group),
  };
  return { mount, accessMode };
}

/** Attributes of the pod, for drivers with podInfoOnMount. */
export function podInfoContext(pod: Pod, volume: CsiVolume): Record<string, string> {
  const { name = '', namespace = '', uid = '' } = pod.metadata;
  return {
    'csi.storage.k8s.io/pod.name': name,
    'csi.storage.k8s.io/pod.namespace': namespace,
    'csi.storage.k8s.io/pod.uid': uid,
    'csi.storage.k8s.io/serviceAccount.name': pod.spec?.serviceAccountName ?? '',
    'csi.storage.k8s.io/ephemeral': String(volume.mode === 'Ephemeral'),
  };
}

/** Whether the kubelet sets the group of the volume's files to the pod's fsGroup. Upstream: supportsFSGroup. */
export function appliesFsGroup(volume: CsiVolume, object: CSIDriver | undefined): boolean {
  if (volume.block) return false;
  const policy = object?.spec.fsGroupPolicy ?? 'ReadWriteOnceWithFSType';
  if (policy === 'None') return false;
  if (policy === 'File') return !volume.readOnly;
  const once = volume.accessModes.some((mode) => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod');
  return volume.fsType !== '' && once && !volume.readOnly;
}

/**
 * The SELinux mount option: only for ReadWriteOncePod volumes of drivers that support it. Empty: none. Upstream:
 * pkg/volume/util/selinux.go.
 */
export function seLinuxContextOf(pod: Pod, volume: CsiVolume, object: CSIDriver | undefined): string {
  if (object?.spec.seLinuxMount !== true || !volume.accessModes.includes('ReadWriteOncePod')) return '';
  const options = pod.spec?.securityContext?.seLinuxOptions ?? pod.spec?.containers[0]?.securityContext?.seLinuxOptions;
  if (options?.level === undefined || options.level === '') return '';
  const { user = 'system_u', role = 'object_r', type = 'container_file_t', level } = options;
  return `${user}:${role}:${type}:${level}`;
}

/** Name of the VolumeAttachment, as drivers, controllers and kubelets compute it. */
export function attachmentNameOf(volume: CsiVolume, nodeName: string, sha256Hex: (text: string) => string): string {
  return `csi-${sha256Hex(`${volume.handle}${volume.driver}${nodeName}`)}`;
}

/** The capacity in the volume's object. */
export function capacityOf(volume: PersistentVolume | undefined): string | undefined {
  return volume?.spec?.capacity?.['storage'];
}
