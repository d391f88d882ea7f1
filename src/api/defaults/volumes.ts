/** Defaults of volumes and claims. Upstream: apis/core/v1/defaults.go. */
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  Volume,
  VolumeProjection,
} from '../gen/core-v1.ts';
import { defaultPullPolicy } from './image.ts';
import { roundResourceList } from './resource-lists.ts';

const DEFAULT_FILE_MODE = 0o644;

/** Sets the defaults of one volume of a pod. */
export function setVolumeDefaults(volume: Volume): void {
  if (Object.keys(volume).every((key) => key === 'name' || volume[key as keyof Volume] === undefined))
    volume.emptyDir = {};
  for (const files of [volume.secret, volume.configMap, volume.downwardAPI, volume.projected]) {
    if (files !== undefined) files.defaultMode ??= DEFAULT_FILE_MODE;
  }
  for (const file of volume.downwardAPI?.items ?? [])
    if (file.fieldRef !== undefined) file.fieldRef.apiVersion ||= 'v1';
  for (const source of volume.projected?.sources ?? []) setProjectionDefaults(source);
  if (volume.hostPath !== undefined) volume.hostPath.type ??= '';
  if (volume.ephemeral?.volumeClaimTemplate !== undefined)
    setClaimSpecDefaults(volume.ephemeral.volumeClaimTemplate.spec);
  if (volume.image !== undefined) volume.image.pullPolicy ||= defaultPullPolicy(volume.image.reference ?? '');
  setBlockDefaults(volume);
}

function setProjectionDefaults(source: VolumeProjection): void {
  if (source.serviceAccountToken !== undefined) source.serviceAccountToken.expirationSeconds ??= 3600;
  for (const file of source.downwardAPI?.items ?? [])
    if (file.fieldRef !== undefined) file.fieldRef.apiVersion ||= 'v1';
}

/** Sets the defaults of sources that pods and persistent volumes share. */
function setBlockDefaults(
  volume: Pick<Volume, 'iscsi' | 'azureDisk'> & { rbd?: Volume['rbd'] | object; scaleIO?: Volume['scaleIO'] | object },
): void {
  if (volume.iscsi !== undefined) volume.iscsi.iscsiInterface ||= 'default';
  const rbd = volume.rbd as { pool?: string; user?: string; keyring?: string } | undefined;
  if (rbd !== undefined) {
    rbd.pool ||= 'rbd';
    rbd.user ||= 'admin';
    rbd.keyring ||= '/etc/ceph/keyring';
  }
  if (volume.azureDisk !== undefined) {
    volume.azureDisk.cachingMode ??= 'ReadWrite';
    volume.azureDisk.kind ??= 'Shared';
    volume.azureDisk.fsType ??= 'ext4';
    volume.azureDisk.readOnly ??= false;
  }
  const scaleIO = volume.scaleIO as { storageMode?: string; fsType?: string } | undefined;
  if (scaleIO !== undefined) {
    scaleIO.storageMode ||= 'ThinProvisioned';
    scaleIO.fsType ||= 'xfs';
  }
}

/** Sets the defaults of a claim's spec. */
function setClaimSpecDefaults(spec: PersistentVolumeClaimSpec): void {
  spec.volumeMode ??= 'Filesystem';
  roundResourceList(spec.resources?.requests);
  roundResourceList(spec.resources?.limits);
}

export function setPersistentVolumeClaimDefaults(claim: PersistentVolumeClaim): void {
  setClaimSpecDefaults((claim.spec ??= {}));
  claim.status ??= {};
  claim.status.phase ||= 'Pending';
}

export function setPersistentVolumeDefaults(volume: PersistentVolume): void {
  const spec = (volume.spec ??= {});
  spec.persistentVolumeReclaimPolicy ||= 'Retain';
  spec.volumeMode ??= 'Filesystem';
  if (spec.hostPath !== undefined) spec.hostPath.type ??= '';
  setBlockDefaults(spec);
  roundResourceList(spec.capacity);
  volume.status ??= {};
  volume.status.phase ||= 'Pending';
}
