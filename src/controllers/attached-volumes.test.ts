import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  CSIDrivers,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
  VolumeAttachments,
} from '../api/gen/resources.ts';
import type { VolumeAttachment } from '../api/gen/storage-v1.ts';
import { createAttachDetachController } from './attach-detach/attach-detach-controller.ts';
import { createEphemeralVolumeController } from './ephemeral-volume/ephemeral-volume-controller.ts';
import { createPersistentVolumeBinder } from './persistentvolume-binder/binder-controller.ts';
import { createPersistentVolumeExpander } from './persistentvolume-expander/expander-controller.ts';
import { startServerHarness, type ServerHarness } from './server-harness-fixture.ts';

const UNIQUE = 'kubernetes.io/csi/disks.example.com^handle-v';

async function start(accessMode = 'ReadWriteOnce', attachRequired = true): Promise<ServerHarness> {
  const h = await startServerHarness([createAttachDetachController, createPersistentVolumeBinder]);
  for (const node of ['n1', 'n2']) {
    await h.addNode(node);
    await ready(h, node, 'True');
  }
  await h.create(CSIDrivers, { metadata: { name: 'disks.example.com' }, spec: { attachRequired } });
  await h.create(PersistentVolumes, {
    metadata: { name: 'v' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: [accessMode],
      persistentVolumeReclaimPolicy: 'Retain',
      csi: { driver: 'disks.example.com', volumeHandle: 'handle-v' },
    },
  });
  await h.create(PersistentVolumeClaims, {
    metadata: { name: 'c' },
    spec: { accessModes: [accessMode], resources: { requests: { storage: '1Gi' } }, storageClassName: '' },
  });
  await h.clock.advance(1000);
  return h;
}

async function ready(h: ServerHarness, node: string, status: string): Promise<void> {
  await h.update(
    Nodes,
    node,
    (draft) => void ((draft.status ??= {}).conditions = [{ type: 'Ready', status }]),
    'status',
  );
}

async function pod(h: ServerHarness, name: string, nodeName: string): Promise<void> {
  await h.create(Pods, {
    metadata: { name },
    spec: {
      nodeName,
      containers: [{ name: 'c', image: 'i' }],
      volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'c' } }],
    },
  });
  await h.clock.advance(1000);
}

const attachments = (h: ServerHarness): Promise<VolumeAttachment[]> => h.list(VolumeAttachments);
const attachedTo = async (h: ServerHarness): Promise<string[]> =>
  (await attachments(h)).map(({ spec }) => spec.nodeName);
const told = async (h: ServerHarness, node: string): Promise<string[]> =>
  ((await h.get(Nodes, node)).status?.volumesAttached ?? []).map(({ name }) => name);

const counted = async (h: ServerHarness): Promise<string[]> =>
  (await h.metrics.expose())
    .split('\n')
    .filter((line) => /^(attachdetach_controller_total|storage_count_attachable)_volumes/.test(line))
    .toSorted();

/** Writes the status of the driver's attacher. */
async function report(h: ServerHarness, status: VolumeAttachment['status']): Promise<void> {
  for (const { metadata } of await attachments(h))
    await h.update(VolumeAttachments, metadata.name ?? '', (draft) => void (draft.status = status!), 'status');
  await h.clock.advance(1000);
}
const gone = async (h: ServerHarness, name: string): Promise<void> => {
  await h.clock.drive(h.admin.resource(Pods).delete({ namespace: 'default', name }, { gracePeriodSeconds: 0 }));
  await h.clock.advance(1000);
};

describe('attach and detach', () => {
  it('attaches for a pod, reports the attachment to the node, and detaches after the node has unmounted', async () => {
    const h = await start();
    await pod(h, 'a', 'n1');
    const [attachment] = await attachments(h);
    assert.match(attachment?.metadata.name ?? '', /^csi-[0-9a-f]{64}$/);
    assert.deepEqual(attachment?.spec, {
      attacher: 'disks.example.com',
      nodeName: 'n1',
      source: { persistentVolumeName: 'v' },
    });
    assert.deepEqual(await told(h, 'n1'), []);
    await report(h, { attached: true });
    assert.deepEqual(await told(h, 'n1'), [UNIQUE]);
    await h.update(Nodes, 'n1', (draft) => void (draft.status!.volumesInUse = [UNIQUE]), 'status');
    await gone(h, 'a');
    await h.clock.advance(30_000);
    assert.deepEqual(await attachedTo(h), ['n1'], 'still mounted there');
    await h.update(Nodes, 'n1', (draft) => void delete draft.status!.volumesInUse, 'status');
    await h.clock.advance(6000);
    assert.deepEqual([await attachedTo(h), await told(h, 'n1')], [[], []]);
    assert.ok(
      (await h.events()).includes('Normal SuccessfulAttachVolume AttachVolume.Attach succeeded for volume "v" '),
    );
    await h.stop();
  });

  it('attaches an exclusive volume to one node at a time, and reports the conflict', async () => {
    const h = await start();
    await pod(h, 'a', 'n1');
    await report(h, { attached: true });
    await pod(h, 'b', 'n2');
    const plugin = 'plugin_name="kubernetes.io/csi:disks.example.com"';
    assert.deepEqual(await counted(h), [
      `attachdetach_controller_total_volumes{${plugin},state="actual_state_of_world"} 1`,
      `attachdetach_controller_total_volumes{${plugin},state="desired_state_of_world"} 2`,
      `storage_count_attachable_volumes_in_use{node="n1",volume_${plugin.replace('_name', '')}} 1`,
      `storage_count_attachable_volumes_in_use{node="n2",volume_${plugin.replace('_name', '')}} 1`,
    ]);
    assert.deepEqual(await attachedTo(h), ['n1']);
    assert.ok(
      (await h.events()).includes(
        'Warning FailedAttachVolume Multi-Attach error for volume "v" Volume is already used by pod(s) a',
      ),
    );
    await gone(h, 'a');
    await h.clock.advance(6000);
    assert.deepEqual(await attachedTo(h), ['n2']);
    await h.stop();
    assert.deepEqual(await counted(h), []);
  });

  it('counts a volume in use once per pod, also of pods that have ended and where nothing is to be attached', async () => {
    for (const required of [true, false]) {
      const h = await start('ReadWriteOnce', required);
      for (const name of ['a', 'b', 'ended']) await pod(h, name, 'n1');
      await h.finish(await h.get(Pods, 'default/ended'), 'Succeeded', 0);
      await h.clock.advance(1000);
      const plugin = 'kubernetes.io/csi:disks.example.com';
      assert.deepEqual(await counted(h), [
        ...(required
          ? [`attachdetach_controller_total_volumes{plugin_name="${plugin}",state="desired_state_of_world"} 1`]
          : []),
        `storage_count_attachable_volumes_in_use{node="n1",volume_plugin="${plugin}"} 3`,
      ]);
      await h.stop();
    }
  });

  it('neither attaches nor expects volumes that a kubelet attaches itself', async () => {
    const h = await start();
    await h.update(Nodes, 'n1', (draft) => void delete draft.metadata.annotations);
    await pod(h, 'a', 'n1');
    assert.deepEqual(await attachedTo(h), []);
    assert.deepEqual(await counted(h), [
      'storage_count_attachable_volumes_in_use{node="n1",volume_plugin="kubernetes.io/csi:disks.example.com"} 1',
    ]);
    await h.stop();
  });

  it('attaches in-tree volumes that migrated to CSI drivers, also inline ones', async () => {
    const h = await start();
    await h.create(Pods, {
      metadata: { name: 'a' },
      spec: {
        nodeName: 'n1',
        containers: [{ name: 'c', image: 'i' }],
        volumes: [{ name: 'd', awsElasticBlockStore: { volumeID: 'vol-1' } }],
      },
    });
    await h.clock.advance(1000);
    const [attachment] = await attachments(h);
    assert.equal(attachment?.spec.attacher, 'ebs.csi.aws.com');
    assert.equal(attachment?.spec.source.inlineVolumeSpec?.csi?.volumeHandle, 'vol-1');
    await report(h, { attached: true });
    assert.deepEqual(await told(h, 'n1'), ['kubernetes.io/csi/ebs.csi.aws.com^vol-1']);
    await gone(h, 'a');
    await h.clock.advance(6000);
    assert.deepEqual([await attachedTo(h), await told(h, 'n1')], [[], []]);
    await h.stop();
  });

  it('ignores nodes whose kubelet attaches itself', async () => {
    const h = await start();
    await h.update(Nodes, 'n1', (draft) => void delete draft.metadata.annotations);
    await pod(h, 'a', 'n1');
    assert.deepEqual(await attachedTo(h), []);
    await h.stop();
  });

  const kinds: [what: string, mode: string, required: boolean, nodes: string[]][] = [
    ['a shared volume goes to both nodes', 'ReadWriteMany', true, ['n1', 'n2']],
    ['a driver without attachment is left alone', 'ReadWriteOnce', false, []],
  ];
  for (const [what, mode, required, nodes] of kinds) {
    it(what, async () => {
      const h = await start(mode, required);
      await pod(h, 'a', 'n1');
      await pod(h, 'b', 'n2');
      assert.deepEqual((await attachedTo(h)).sort(), nodes);
      await h.stop();
    });
  }

  it('detaches a volume in use from a node that is down, after six minutes or with the out-of-service taint', async () => {
    for (const outOfService of [false, true]) {
      const h = await start();
      await pod(h, 'a', 'n1');
      await h.update(Nodes, 'n1', (draft) => void (draft.status!.volumesInUse = [UNIQUE]), 'status');
      await ready(h, 'n1', 'Unknown');
      await gone(h, 'a');
      await h.clock.advance(300_000);
      assert.deepEqual(await attachedTo(h), ['n1']);
      const taint = { key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' };
      if (outOfService) await h.update(Nodes, 'n1', (draft) => void ((draft.spec ??= {}).taints = [taint]));
      await h.clock.advance(outOfService ? 6000 : 70_000);
      assert.deepEqual(await attachedTo(h), []);
      await h.stop();
    }
  });

  it('passes the driver’s complaint on to the pods that wait', async () => {
    const h = await start();
    await pod(h, 'a', 'n1');
    await report(h, { attached: false, attachError: { message: 'no slot left' } });
    assert.ok(
      (await h.events()).includes(
        'Warning FailedAttachVolume AttachVolume.Attach failed for volume "v" : no slot left',
      ),
    );
    await h.stop();
  });
});

describe('ephemeral volumes', () => {
  const ephemeral = {
    metadata: { name: 'p' },
    spec: {
      containers: [{ name: 'c', image: 'i' }],
      volumes: [
        {
          name: 'scratch',
          ephemeral: {
            volumeClaimTemplate: {
              metadata: { labels: { kind: 'scratch' } },
              spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
            },
          },
        },
      ],
    },
  };

  it('get a claim that belongs to their pod, and get it again', async () => {
    const h = await startServerHarness([createEphemeralVolumeController]);
    const owner = await h.create(Pods, ephemeral);
    await h.clock.advance(1000);
    const claim = await h.get(PersistentVolumeClaims, 'default/p-scratch');
    assert.deepEqual(claim.metadata.labels, { kind: 'scratch' });
    assert.deepEqual(claim.metadata.ownerReferences, [
      { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: owner.metadata.uid, controller: true, blockOwnerDeletion: true },
    ]);
    await h.remove(PersistentVolumeClaims, 'default/p-scratch');
    await h.clock.advance(1000);
    assert.equal((await h.list(PersistentVolumeClaims)).length, 1);
    await h.stop();
  });

  it('do not take another’s claim', async () => {
    const h = await startServerHarness([createEphemeralVolumeController]);
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
    await h.create(PersistentVolumeClaims, { metadata: { name: 'p-scratch' }, spec });
    await h.create(Pods, ephemeral);
    await h.clock.advance(1000);
    assert.ok(
      (await h.events()).includes(
        'Warning FailedBinding ephemeral volume scratch: PVC default/p-scratch was not created for pod default/p (pod is not owner)',
      ),
    );
    await h.stop();
  });
});

it('an event of a claim that grows names the component that expands it', async () => {
  const h = await startServerHarness([createPersistentVolumeExpander, createPersistentVolumeBinder]);
  const storageClassName = 'grows';
  await h.clock.drive(
    h.admin.raw({
      method: 'POST',
      path: '/apis/storage.k8s.io/v1/storageclasses',
      body: { metadata: { name: storageClassName }, provisioner: 'disks.example.com', allowVolumeExpansion: true },
    }),
  );
  await h.create(PersistentVolumes, {
    metadata: { name: 'v' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName,
      csi: { driver: 'disks.example.com', volumeHandle: 'h' },
    },
  });
  await h.create(PersistentVolumeClaims, {
    metadata: { name: 'c' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName },
  });
  await h.clock.advance(1000);
  await h.update(
    PersistentVolumeClaims,
    'default/c',
    (draft) => void (draft.spec!.resources!.requests!['storage'] = '2Gi'),
  );
  await h.clock.advance(1000);
  assert.ok(
    (await h.events()).includes('Normal ExternalExpanding waiting for an external controller to expand this PVC'),
  );
  await h.stop();
});
