import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWithAll } from '../all-resources-fixture.ts';

const spec = { containers: [{ name: 'c', image: 'i' }] };
const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const volume = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } };
const requests = { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] } };

/** Kinds whose deletion returns the object (upstream's ReturnDeletedObject), and some that return a Status. */
const samples: readonly [string, string, object][] = [
  ['PersistentVolumeClaim', 'api/v1/namespaces/default/persistentvolumeclaims', { spec: claim }],
  ['PersistentVolume', 'api/v1/persistentvolumes', { spec: volume }],
  ['Pod', 'api/v1/namespaces/default/pods', { spec: { ...spec, terminationGracePeriodSeconds: 0 } }],
  ['PodTemplate', 'api/v1/namespaces/default/podtemplates', { template: { spec } }],
  ['ResourceQuota', 'api/v1/namespaces/default/resourcequotas', {}],
  ['ServiceAccount', 'api/v1/namespaces/default/serviceaccounts', {}],
  ['Service', 'api/v1/namespaces/default/services', { spec: { ports: [{ port: 80 }] } }],
  ['CSIDriver', 'apis/storage.k8s.io/v1/csidrivers', { spec: {} }],
  ['CSINode', 'apis/storage.k8s.io/v1/csinodes', { spec: { drivers: [] } }],
  ['StorageClass', 'apis/storage.k8s.io/v1/storageclasses', { provisioner: 'p' }],
  [
    'VolumeAttachment',
    'apis/storage.k8s.io/v1/volumeattachments',
    { spec: { attacher: 'a', nodeName: 'n', source: { persistentVolumeName: 'v' } } },
  ],
  [
    'VolumeAttributesClass',
    'apis/storage.k8s.io/v1/volumeattributesclasses',
    { driverName: 'd.example.com', parameters: { a: 'b' } },
  ],
  ['DeviceClass', 'apis/resource.k8s.io/v1/deviceclasses', { spec: {} }],
  ['ResourceClaim', 'apis/resource.k8s.io/v1/namespaces/default/resourceclaims', { spec: requests }],
  [
    'ResourceClaimTemplate',
    'apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates',
    { spec: { spec: requests } },
  ],
  [
    'ResourceSlice',
    'apis/resource.k8s.io/v1/resourceslices',
    { spec: { driver: 'd.example.com', nodeName: 'n', pool: { name: 'p', resourceSliceCount: 1, generation: 1 } } },
  ],
  [
    'DeviceTaintRule',
    'apis/resource.k8s.io/v1beta2/devicetaintrules',
    { spec: { deviceSelector: { driver: 'd.example.com' }, taint: { key: 'a.example/b', effect: 'NoSchedule' } } },
  ],
  [
    'ResourcePoolStatusRequest',
    'apis/resource.k8s.io/v1alpha3/resourcepoolstatusrequests',
    { spec: { driver: 'd.example.com' } },
  ],
  ['Status', 'api/v1/namespaces/default/configmaps', {}],
  ['Status', 'api/v1/namespaces/default/secrets', {}],
  ['Status', 'apis/coordination.k8s.io/v1/namespaces/default/leases', {}],
  ['Status', 'apis/scheduling.k8s.io/v1/priorityclasses', { value: 1 }],
];

test('a deletion returns the object where upstream does, and otherwise a Status', async () => {
  const { send } = await startWithAll([], 'api/all=true');
  for (const [kind, path, content] of samples) {
    const name = kind === 'CSIDriver' ? 'd.example.com' : 'x';
    const made = await send('POST', `/${path}`, { metadata: { name }, ...content });
    assert.equal(made.status, 201, made.text);
    const gone = await send('DELETE', `/${path}/${name}`);
    assert.equal(gone.status, 200, gone.text);
    assert.equal(gone.body.kind, kind, path);
    const left = await send('GET', `/${path}/${name}`);
    assert.equal(left.status, 404, `${path} is gone`);
  }
});
