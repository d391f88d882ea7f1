/** Kinds of volumes, and how each is treated. */
import type { FieldRow, FieldRows } from './field-rows.ts';

const toDriver = (driver: string): FieldRow => [
  'honoured',
  `routed to the CSI driver ${driver}; FailedMount "… driver name ${driver} not found in the list of registered CSI drivers" while it is missing`,
];

const removed = (kind: string): FieldRow => [
  'refused',
  `FailedMount "… no volume plugin matched: volumes of type ${kind} are no longer supported, as upstream"`,
];

export const VOLUME_ROWS: FieldRows = {
  awsElasticBlockStore: toDriver('ebs.csi.aws.com'),
  azureDisk: toDriver('disk.csi.azure.com'),
  azureFile: toDriver('file.csi.azure.com'),
  cephfs: removed('cephfs'),
  cinder: toDriver('cinder.csi.openstack.org'),
  configMap: ['honoured', 'changes reach the files at once'],
  csi: ['honoured', 'also persistent volumes: staged, published, grown, measured; block volumes'],
  downwardAPI: ['honoured', ''],
  emptyDir: ['honoured', ''],
  ephemeral: ['honoured', ''],
  fc: ['honoured', 'by the links udev makes; several paths by multipathd'],
  flexVolume: [
    'in part',
    "drivers that attach are asked to by the kubelet; there are no calls of upstream's controller",
  ],
  flocker: removed('flocker'),
  gcePersistentDisk: toDriver('pd.csi.storage.gke.io'),
  gitRepo: [
    'in part',
    'with the gate GitRepoVolumeDriver and git on the node; else FailedMount "git-repo volume plugin has been disabled; …"',
  ],
  glusterfs: ['honoured', 'by mount.glusterfs on the node'],
  hostPath: ['honoured', ''],
  image: [
    'in part',
    'pulled; where the runtime cannot mount images (containerd before 2.1): CreateContainerConfigError "… does not support image volumes …"',
  ],
  iscsi: ['honoured', 'by iscsiadm on the node; several portals by multipathd'],
  name: ['honoured', ''],
  nfs: ['honoured', 'by mount.nfs on the node'],
  persistentVolumeClaim: ['honoured', ''],
  photonPersistentDisk: removed('photonPersistentDisk'),
  portworxVolume: toDriver('pxd.portworx.com'),
  'projected.defaultMode': ['honoured', ''],
  'projected.sources[].clusterTrustBundle': ['honoured', 'looked at again every minute'],
  'projected.sources[].configMap': ['honoured', ''],
  'projected.sources[].downwardAPI': ['honoured', ''],
  'projected.sources[].podCertificate': [
    'refused',
    'FailedMount "projected volume source podCertificate is not supported yet"',
  ],
  'projected.sources[].secret': ['honoured', ''],
  'projected.sources[].serviceAccountToken': ['honoured', ''],
  quobyte: removed('quobyte'),
  rbd: ['honoured', 'by rbd on the node'],
  scaleIO: removed('scaleIO'),
  secret: ['honoured', 'kept in memory'],
  storageos: removed('storageos'),
  vsphereVolume: toDriver('csi.vsphere.vmware.com'),
};
