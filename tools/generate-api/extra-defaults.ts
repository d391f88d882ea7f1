// Default values upstream publishes in its OpenAPI documents that matter to clients and to server-side apply (keys of
// list maps). Defaulting itself is code (src/api/defaults); zero defaults are left out. Upstream: +default markers.

/** `Type.field` to the published default. */
export const publishedDefaults: Record<string, unknown> = {
  'core.v1.ContainerPort.protocol': 'TCP',
  'core.v1.ServicePort.protocol': 'TCP',
  'core.v1.AzureDiskVolumeSource.cachingMode': 'ReadWrite',
  'core.v1.AzureDiskVolumeSource.fsType': 'ext4',
  'core.v1.AzureDiskVolumeSource.kind': 'Shared',
  'core.v1.AzureDiskVolumeSource.readOnly': false,
  'core.v1.ISCSIVolumeSource.iscsiInterface': 'default',
  'core.v1.ISCSIPersistentVolumeSource.iscsiInterface': 'default',
  'core.v1.RBDVolumeSource.pool': 'rbd',
  'core.v1.RBDVolumeSource.user': 'admin',
  'core.v1.RBDVolumeSource.keyring': '/etc/ceph/keyring',
  'core.v1.RBDPersistentVolumeSource.pool': 'rbd',
  'core.v1.RBDPersistentVolumeSource.user': 'admin',
  'core.v1.RBDPersistentVolumeSource.keyring': '/etc/ceph/keyring',
  'core.v1.ScaleIOVolumeSource.fsType': 'xfs',
  'core.v1.ScaleIOVolumeSource.storageMode': 'ThinProvisioned',
  'core.v1.ScaleIOPersistentVolumeSource.fsType': 'xfs',
  'core.v1.ScaleIOPersistentVolumeSource.storageMode': 'ThinProvisioned',
  'flowcontrol.v1.ExemptPriorityLevelConfiguration.nominalConcurrencyShares': 0,
  'flowcontrol.v1.LimitedPriorityLevelConfiguration.nominalConcurrencyShares': 30,
};
