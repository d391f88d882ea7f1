import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume, PersistentVolumeSpec, Volume } from '../api/gen/core-v1.ts';
import { csiSourceOf, migratedInlineVolume } from './csi-translation.ts';

const volumes: readonly [
  what: string,
  spec: PersistentVolumeSpec,
  labels: Record<string, string>,
  csi: object | undefined,
][] = [
  [
    'aws',
    { awsElasticBlockStore: { volumeID: 'aws://us-east-1a/vol-1', fsType: 'xfs', partition: 2 } },
    {},
    {
      driver: 'ebs.csi.aws.com',
      volumeHandle: 'vol-1',
      fsType: 'xfs',
      volumeAttributes: { partition: '2' },
    },
  ],
  [
    'gce in a zone',
    { gcePersistentDisk: { pdName: 'd', readOnly: true } },
    { 'topology.kubernetes.io/zone': 'eu-1-b' },
    {
      driver: 'pd.csi.storage.gke.io',
      volumeHandle: 'projects/UNSPECIFIED/zones/eu-1-b/disks/d',
      readOnly: true,
      volumeAttributes: { partition: '' },
    },
  ],
  [
    'gce in a region',
    { gcePersistentDisk: { pdName: 'd' } },
    { 'failure-domain.beta.kubernetes.io/zone': 'eu-1-b__eu-1-c' },
    {
      driver: 'pd.csi.storage.gke.io',
      volumeHandle: 'projects/UNSPECIFIED/regions/eu-1/disks/d',
      volumeAttributes: { partition: '' },
    },
  ],
  [
    'azure disk',
    { azureDisk: { diskName: 'd', diskURI: '/subscriptions/d', cachingMode: 'None' } },
    {},
    {
      driver: 'disk.csi.azure.com',
      volumeHandle: '/subscriptions/d',
      volumeAttributes: { cachingMode: 'None', kind: 'Managed' },
    },
  ],
  [
    'azure file',
    {
      azureFile: { secretName: 'azure-storage-account-acc-secret', shareName: 's' },
      claimRef: { namespace: 'ns', name: 'c' },
    },
    {},
    {
      driver: 'file.csi.azure.com',
      volumeHandle: '#acc#s##c',
      volumeAttributes: { shareName: 's' },
      nodeStageSecretRef: { name: 'azure-storage-account-acc-secret', namespace: 'ns' },
    },
  ],
  ['cinder', { cinder: { volumeID: 'id' } }, {}, { driver: 'cinder.csi.openstack.org', volumeHandle: 'id' }],
  [
    'vsphere',
    { vsphereVolume: { volumePath: '[ds] a/b.vmdk' } },
    {},
    {
      driver: 'csi.vsphere.vmware.com',
      volumeHandle: '[ds] a/b.vmdk',
      volumeAttributes: { initialvolumefilepath: '[ds] a/b.vmdk' },
    },
  ],
  [
    'portworx',
    { portworxVolume: { volumeID: 'id', fsType: 'ext4' } },
    {},
    {
      driver: 'pxd.portworx.com',
      volumeHandle: 'id',
      fsType: 'ext4',
    },
  ],
  ['csi itself', { csi: { driver: 'd', volumeHandle: 'h' } }, {}, { driver: 'd', volumeHandle: 'h' }],
  ['none of these', { nfs: { server: 's', path: '/' } }, {}, undefined],
];

for (const [what, spec, labels, csi] of volumes) {
  test(`a persistent volume: ${what}`, () => {
    const volume: PersistentVolume = { metadata: { name: 'pv', labels }, spec };
    assert.deepEqual(csiSourceOf(volume), csi);
  });
}

test('volumes written into pods', () => {
  const name = (volume: Volume): unknown => {
    const found = migratedInlineVolume(volume, 'ns');
    return found && [found.metadata.name, found.spec?.accessModes, found.spec?.csi?.volumeHandle];
  };
  assert.deepEqual(name({ name: 'v', awsElasticBlockStore: { volumeID: 'vol-1' } }), [
    'ebs.csi.aws.com-vol-1',
    ['ReadWriteOnce'],
    'vol-1',
  ]);
  assert.deepEqual(name({ name: 'v', azureFile: { secretName: 's', shareName: 'share' } }), [
    'file.csi.azure.com-#s#share##v',
    ['ReadWriteMany'],
    '#s#share##v',
  ]);
  assert.equal(name({ name: 'v', emptyDir: {} }), undefined);
});
