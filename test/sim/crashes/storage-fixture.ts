/** Worlds of the controllers of volumes. */
import assert from 'node:assert/strict';
import {
  CSIDrivers,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
  StorageClasses,
  VolumeAttachments,
  VolumeAttributesClasses,
} from '../../../src/api/gen/resources.ts';
import type { PersistentVolumeClaim } from '../../../src/api/gen/core-v1.ts';
import { localPathStorageClass } from '../../../src/apiserver/bootstrap/local-path-class.ts';
import type { ControllerName } from '../../../src/controllers/list.ts';
import type { CrashWorld, Step } from './run-world-fixture.ts';
import { addNodes, all, change, create, remove } from './workloads-fixture.ts';

const ACCESS = { accessModes: ['ReadWriteOnce'] };
const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
const UNIQUE = 'kubernetes.io/csi/disks.example.com^handle-v';

const volume = (name: string, storage: string, spec: object = {}): Step =>
  create(PersistentVolumes, name, {
    spec: {
      ...ACCESS,
      capacity: { storage },
      persistentVolumeReclaimPolicy: 'Retain',
      hostPath: { path: '/data' },
      ...spec,
    },
  });

const claim = (name: string, storage: string, spec: object = {}): Step =>
  create(PersistentVolumeClaims, name, {
    spec: { ...ACCESS, resources: { requests: { storage } }, storageClassName: '', ...spec },
  });

const changeClaim = (name: string, how: (draft: PersistentVolumeClaim) => void): Step =>
  change(PersistentVolumeClaims, `default/${name}`, how);

const disk = { csi: { driver: 'disks.example.com', volumeHandle: 'handle-v' } };
const noPath = { hostPath: undefined };

const podWith = (name: string, volumes: object[], nodeName?: string): Step =>
  create(Pods, name, {
    spec: {
      containers: [{ name: 'c', image: 'i' }],
      volumes,
      terminationGracePeriodSeconds: 0,
      ...(nodeName === undefined ? {} : { nodeName }),
    },
  });
const onClaim = [{ name: 'd', persistentVolumeClaim: { claimName: 'c' } }];

const attached: Step = async (h) => {
  for (const { metadata } of await h.list(VolumeAttachments))
    await h.update(VolumeAttachments, metadata.name!, (draft) => void (draft.status = { attached: true }), 'status');
};
const inUse = (volumes: string[]): Step =>
  change(Nodes, 'n1', (draft) => void ((draft.status ??= {}).volumesInUse = volumes), 'status');

const attachment: CrashWorld = {
  with: ['persistentvolume-binder-controller'],
  before: all(
    addNodes('n1'),
    create(CSIDrivers, 'disks.example.com', { spec: { attachRequired: true } }),
    volume('v', '1Gi', { ...noPath, ...disk }),
    claim('c', '1Gi'),
  ),
  steps: [podWith('p', onClaim, 'n1'), all(attached, inUse([UNIQUE])), remove(Pods as never, 'default/p'), inUse([])],
  restMs: 10_000,
};

const claimTemplate = { spec: { ...ACCESS, resources: { requests: { storage: '1Gi' } } } };

const finalizerGone = (draft: { metadata: { finalizers?: readonly string[] } }): void => {
  delete (draft.metadata as { finalizers?: readonly string[] }).finalizers;
};

const provisioned: CrashWorld = {
  with: [
    'persistentvolume-binder-controller',
    'persistentvolumeclaim-protection-controller',
    'persistentvolume-protection-controller',
  ],
  kubelets: {
    proxyNode: async () => ({ kind: 'bytes', status: 200, headers: {}, chunks: [Buffer.from('gone')] }),
  },
  before: all(
    (h) => h.create(StorageClasses, localPathStorageClass()),
    addNodes('n1'),
    change(Nodes, 'n1', (draft) => void (draft.metadata.annotations = { 'keelson.dev/local-path': '/data' })),
  ),
  steps: [
    all(claim('c', '1Gi', { storageClassName: undefined }), claim('astray', '1Gi', { storageClassName: undefined })),
    all(
      ...Object.entries({ c: 'n1', astray: 'nowhere' }).map(([name, node]) =>
        changeClaim(name, (draft) => {
          draft.metadata.annotations = { ...draft.metadata.annotations, [SELECTED_NODE]: node };
        }),
      ),
    ),
    remove(PersistentVolumeClaims as never, 'default/c'),
  ],
  restMs: 10_000,
};

/** By the controllers' names. */
export const storageWorlds = {
  'persistentvolume-binder-controller': {
    steps: [
      all(volume('small', '1Gi'), volume('large', '5Gi'), claim('c', '2Gi')),
      claim('later', '1Gi', { volumeName: 'late' }),
      volume('late', '1Gi'),
      all(changeClaim('c', finalizerGone), remove(PersistentVolumeClaims as never, 'default/c')),
    ],
  },
  'persistentvolume-attach-detach-controller': attachment,
  'persistentvolume-expander-controller': {
    with: ['persistentvolume-binder-controller'],
    before: all(
      create(StorageClasses, 'grows', { provisioner: 'disks.example.com', allowVolumeExpansion: true }),
      volume('v', '1Gi', { ...noPath, ...disk, storageClassName: 'grows' }),
      claim('c', '1Gi', { storageClassName: 'grows' }),
    ),
    steps: [
      async () => undefined,
      changeClaim('c', (draft) => void (draft.spec!.resources!.requests!['storage'] = '2Gi')),
    ],
    restMs: 5000,
    // all that the controller does
    async holds(h) {
      const events = await h.events();
      const told = 'Normal ExternalExpanding waiting for an external controller to expand this PVC';
      assert.ok(events.includes(told), events.join('\n'));
    },
  },
  'ephemeral-volume-controller': {
    steps: [
      podWith('p', [
        { name: 'one', ephemeral: { volumeClaimTemplate: claimTemplate } },
        { name: 'two', ephemeral: { volumeClaimTemplate: claimTemplate } },
      ]),
      all(changeClaim('p-one', finalizerGone), remove(PersistentVolumeClaims as never, 'default/p-one')),
    ],
    restMs: 5000,
  },
  'local-path-provisioner-controller': provisioned,
  'persistentvolumeclaim-protection-controller': {
    steps: [
      all(claim('c', '1Gi'), podWith('p', onClaim, 'n1')),
      remove(PersistentVolumeClaims as never, 'default/c'),
      remove(Pods as never, 'default/p'),
    ],
    restMs: 5000,
  },
  'persistentvolume-protection-controller': {
    with: ['persistentvolume-binder-controller', 'persistentvolumeclaim-protection-controller'],
    steps: [
      all(volume('v', '1Gi'), volume('free', '1Gi'), claim('c', '1Gi', { volumeName: 'v' })),
      all(remove(PersistentVolumes as never, 'v'), remove(PersistentVolumes as never, 'free')),
      remove(PersistentVolumeClaims as never, 'default/c'),
    ],
  },
  'volumeattributesclass-protection-controller': {
    steps: [
      create(VolumeAttributesClasses, 'gold', { driverName: 'd', parameters: { iops: '9' } }),
      claim('c', '1Gi', { volumeAttributesClassName: 'gold' }),
      remove(VolumeAttributesClasses as never, 'gold'),
      all(changeClaim('c', finalizerGone), remove(PersistentVolumeClaims as never, 'default/c')),
    ],
    restMs: 5000,
  },
} satisfies Partial<Record<ControllerName, CrashWorld>>;
