import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolumeClaim, Pod } from '../../../api/gen/core-v1.ts';
import {
  CSIDrivers,
  CSINodes,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  Secrets,
} from '../../../api/gen/resources.ts';
import { base64, createVolumeFixture, FIXTURE_ROOT, podWith } from '../volume-fixture.ts';
import { type FakeDriver, fakeDriverPlugin, serveFakeDriver } from './csi-driver-fixture.ts';
import { createCsiNodeObject } from './csi-node-object.ts';
import {
  bind,
  claimed,
  DRIVER_NAME,
  leftOnDisk,
  mount,
  never,
  podNamed,
  register,
  start,
  unmount,
} from './csi-volumes-fixture.ts';

test('the driver is listed in the CSINode and the node, until it disconnects', async (t) => {
  const info = { nodeId: 'n-7', maxVolumesPerNode: 5, accessibleTopology: { segments: { 'example.com/rack': 'r1' } } };
  const { f } = await start(t, undefined, { info });
  assert.deepEqual(f.client.peek(CSINodes, { name: 'node-1' })?.spec.drivers, [
    { name: DRIVER_NAME, nodeID: 'n-7', topologyKeys: ['example.com/rack'], allocatable: { count: 5 } },
  ]);
  const { labels, annotations } = f.client.peek(Nodes, { name: 'node-1' })!.metadata;
  assert.deepEqual(labels, { 'example.com/rack': 'r1' });
  assert.deepEqual(annotations, { 'csi.volume.kubernetes.io/nodeid': `{"${DRIVER_NAME}":"n-7"}` });
  await f.csiHandler.deregisterPlugin(fakeDriverPlugin, never);
  assert.deepEqual(f.client.peek(CSINodes, { name: 'node-1' })?.spec.drivers, []);
  assert.deepEqual(f.client.peek(Nodes, { name: 'node-1' })!.metadata.annotations, {});
});

test('the CSINode exists before any driver, and lists the migrated plugins', async () => {
  const { client } = createVolumeFixture();
  client.put(Nodes, { metadata: { name: 'node-1', uid: 'node-uid' }, status: {} } as never);
  const object = createCsiNodeObject(client, 'node-1');
  await object.initialize();
  const made = client.peek(CSINodes, { name: 'node-1' });
  assert.deepEqual(made?.spec.drivers, []);
  assert.equal(made?.metadata.ownerReferences?.[0]?.uid, 'node-uid');
  const name = 'storage.alpha.kubernetes.io/migrated-plugins';
  assert.match(made?.metadata.annotations?.[name] ?? '', /kubernetes\.io\/gce-pd/);
  client.put(CSINodes, { ...made!, metadata: { ...made!.metadata, annotations: { own: 'x' } } });
  await object.initialize();
  const { annotations } = client.peek(CSINodes, { name: 'node-1' })!.metadata;
  assert.deepEqual(Object.keys(annotations ?? {}), ['own', name], 'an older one is told, too');
});

test('a driver whose topology differs from the labels of the node is refused', async (t) => {
  const csi = await start(t);
  const info = { nodeId: 'n-7', accessibleTopology: { segments: { 'example.com/rack': 'r1' } } };
  csi.f.client.put(Nodes, { metadata: { name: 'node-1', labels: { 'example.com/rack': 'r2' } } } as never);
  serveFakeDriver(csi.f.platform, csi.f.sockets, { info });
  await assert.rejects(register(csi.f), {
    message:
      'detected topology value collision: driver reported "example.com/rack":"r1" but existing label is "example.com/rack":"r2"',
  });
});

test('staged once for all pods, published for each, unstaged after the last; nothing is left', async (t) => {
  const csi = await start(t);
  bind(csi, { mountOptions: ['noatime'] }, { volumeAttributes: { pool: 'fast' } });
  const [a, b] = [podNamed('a'), podNamed('b')];
  const path = await mount(csi, a);
  assert.equal(path, `${FIXTURE_ROOT}/pods/uid-a/volumes/kubernetes.io~csi/pv-1/mount`);
  await mount(csi, b);
  await unmount(csi, a);
  assert.deepEqual(csi.driver.calls, [
    'NodeStageVolume handle-1',
    'NodePublishVolume handle-1',
    'NodePublishVolume handle-1',
    'NodeUnpublishVolume handle-1',
  ]);
  await unmount(csi, b);
  assert.deepEqual(csi.driver.calls.slice(4), ['NodeUnpublishVolume handle-1', 'NodeUnstageVolume handle-1']);
  const stagingTargetPath = csi.driver.requests[0]!.request['stagingTargetPath'] as string;
  assert.match(
    stagingTargetPath,
    new RegExp(`^${FIXTURE_ROOT}/plugins/kubernetes.io/csi/${DRIVER_NAME}/[0-9a-f]{64}/globalmount$`),
  );
  const volumeCapability = {
    accessMode: { mode: 'SINGLE_NODE_WRITER' },
    mount: { fsType: 'ext4', mountFlags: ['noatime'], volumeMountGroup: '' },
  };
  assert.deepEqual(csi.driver.requests[1]!.request, {
    volumeId: 'handle-1',
    publishContext: {},
    stagingTargetPath,
    targetPath: path,
    volumeCapability,
    readonly: false,
    secrets: {},
    volumeContext: { pool: 'fast' },
  });
  assert.deepEqual(csi.f.platform.mounter.mounts, []);
  const told = await csi.f.platform.metrics.expose();
  const labels = `driver_name="${DRIVER_NAME}",grpc_status_code="OK",method_name="/csi.v1.Node/NodePublishVolume"`;
  assert.ok(
    told
      .split('\n')
      .some(
        (line) =>
          line.startsWith('csi_operations_seconds_count') &&
          labels.split(',').every((label) => line.includes(label)) &&
          line.endsWith(' 2'),
      ),
  );
  assert.deepEqual(leftOnDisk(csi), []);
});

test('an event names a missing driver, and the pod starts once it has registered', async (t) => {
  const csi = await start(t);
  bind(csi);
  await csi.f.csiHandler.deregisterPlugin(fakeDriverPlugin, never);
  const pod = podNamed('a');
  const waiting = csi.f.manager.waitForAttachAndMount(pod, never);
  await csi.f.platform.clock.settle();
  assert.deepEqual(csi.f.events, [
    `Warning FailedMount MountVolume.MountDevice failed for volume "pv-1" : kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: driver name ${DRIVER_NAME} not found in the list of registered CSI drivers`,
  ]);
  await register(csi.f);
  await csi.f.platform.clock.drive(waiting);
  await unmount(csi, pod);
  assert.deepEqual(leftOnDisk(csi), []);
});

test('an inline volume gets the values its driver requires: pod information, tokens, secrets', async (t) => {
  const csi = await start(t, {
    podInfoOnMount: true,
    volumeLifecycleModes: ['Ephemeral'],
    tokenRequests: [{ audience: 'vault' }],
    requiresRepublish: true,
  });
  const { f } = csi;
  f.client.put(Secrets, { metadata: { name: 's', namespace: 'default' }, data: { key: base64('value') } } as never);
  const source = {
    driver: DRIVER_NAME,
    nodePublishSecretRef: { name: 's' },
    volumeAttributes: { a: 'b' },
    readOnly: true,
  };
  const pod = podNamed('a', { name: 'data', csi: source });
  await mount(csi, pod);
  const [{ request }] = csi.driver.requests as [FakeDriver['requests'][number]];
  const { 'csi.storage.k8s.io/serviceAccount.tokens': tokens, ...info } = request['volumeContext'] as Record<
    string,
    string
  >;
  assert.deepEqual(info, {
    a: 'b',
    'csi.storage.k8s.io/pod.name': 'a',
    'csi.storage.k8s.io/pod.namespace': 'default',
    'csi.storage.k8s.io/pod.uid': 'uid-a',
    'csi.storage.k8s.io/serviceAccount.name': 'robot',
    'csi.storage.k8s.io/ephemeral': 'true',
  });
  assert.deepEqual(Object.keys(JSON.parse(tokens!) as object), ['vault']);
  assert.deepEqual(request['secrets'], { key: 'value' });
  assert.equal(request['readonly'], true);
  assert.equal(request['stagingTargetPath'], '');
  assert.equal(f.manager.mountedVolumes('uid-a').get('data')!.readOnly, true);
  await f.platform.clock.advance(60_000);
  assert.deepEqual(
    csi.driver.calls.map((call) => call.split(' ')[0]),
    ['NodePublishVolume', 'NodePublishVolume'],
  );
  await unmount(csi, pod);
  assert.deepEqual(leftOnDisk(csi), []);
});

test('tokens are in the secrets where the driver requires it', async (t) => {
  const csi = await start(t, {
    attachRequired: false,
    tokenRequests: [{ audience: '' }],
    serviceAccountTokenInSecrets: true,
  });
  bind(csi);
  await mount(csi, podNamed('a'));
  const { volumeContext, secrets } = csi.driver.requests[1]!.request;
  assert.deepEqual(volumeContext, {});
  assert.deepEqual(Object.keys(secrets as object), ['csi.storage.k8s.io/serviceAccount.tokens']);
});

for (const [what, spec, message] of [
  ['no object', undefined, `volume mode "Ephemeral" not supported by driver ${DRIVER_NAME} (no CSIDriver object)`],
  [
    'only persistent ones',
    { volumeLifecycleModes: ['Persistent'] },
    `volume mode "Ephemeral" not supported by driver ${DRIVER_NAME} (only supports ["Persistent"])`,
  ],
] as const) {
  test(`an inline volume of a driver with ${what} is refused`, async (t) => {
    const f = createVolumeFixture();
    t.after(() => f.stop());
    serveFakeDriver(f.platform, f.sockets);
    f.client.put(Nodes, { metadata: { name: 'node-1' } } as never);
    if (spec !== undefined) f.client.put(CSIDrivers, { metadata: { name: DRIVER_NAME }, spec } as never);
    f.start();
    await register(f);
    const stop = new AbortController();
    const waiting = f.manager.waitForAttachAndMount(
      podNamed('a', { name: 'data', csi: { driver: DRIVER_NAME } }),
      stop.signal,
    );
    waiting.catch(() => undefined);
    await f.platform.clock.settle();
    stop.abort();
    assert.deepEqual(f.events, [`Warning FailedMount MountVolume.SetUp failed for volume "data" : ${message}`]);
  });
}

const group = { securityContext: { fsGroup: 2000 } } as Pod['spec'];

for (const [what, policy, capabilities, csi, owned, passed] of [
  ['by default with a file system type', undefined, ['STAGE_UNSTAGE_VOLUME'], {}, true, ''],
  ['by default without a file system type', undefined, ['STAGE_UNSTAGE_VOLUME'], { fsType: '' }, false, ''],
  ['never with None', 'None', ['STAGE_UNSTAGE_VOLUME'], {}, false, ''],
  ['always with File', 'File', ['STAGE_UNSTAGE_VOLUME'], { fsType: '' }, true, ''],
  ['by the driver where it can', 'File', ['VOLUME_MOUNT_GROUP'], {}, false, '2000'],
] as const) {
  test(`fsGroup: ${what}`, async (t) => {
    const fixture = await start(
      t,
      { attachRequired: false, ...(policy === undefined ? {} : { fsGroupPolicy: policy }) },
      { capabilities },
    );
    bind(fixture, {}, csi);
    const path = await mount(fixture, podNamed('a', claimed, group));
    assert.equal((await fixture.f.platform.files.stat(path)).gid, owned ? 2000 : 0);
    const { volumeCapability } = fixture.driver.requests.at(-1)!.request as {
      volumeCapability: { mount: { volumeMountGroup: string } };
    };
    assert.equal(volumeCapability.mount.volumeMountGroup, passed);
  });
}

test('a block volume is a device', async (t) => {
  const csi = await start(t);
  bind(csi, { volumeMode: 'Block' });
  const pod = podWith([claimed], {
    spec: { containers: [{ name: 'app', volumeMounts: [], volumeDevices: [{ name: 'data', devicePath: '/dev/x' }] }] },
  });
  await mount(csi, pod);
  assert.equal(csi.f.manager.mountedVolumes('uid-1').get('data')!.block, true);
  assert.deepEqual(csi.driver.requests[1]!.request['volumeCapability'], {
    accessMode: { mode: 'SINGLE_NODE_WRITER' },
    block: {},
  });
  await unmount(csi, pod);
  assert.deepEqual(leftOnDisk(csi), []);
});

test('a volume that has grown is grown by the driver, before the pod starts and while it runs', async (t) => {
  const csi = await start(t, { attachRequired: false }, { capabilities: ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'] });
  bind(csi, { capacity: { storage: '2Gi' } });
  await mount(csi, podNamed('a'));
  const claim = (): PersistentVolumeClaim =>
    csi.f.client.peek(PersistentVolumeClaims, { namespace: 'default', name: 'data' })!;
  assert.equal(claim().status?.capacity?.['storage'], '2Gi');
  const volume = csi.f.client.peek(PersistentVolumes, { name: 'pv-1' })!;
  csi.f.client.put(PersistentVolumes, { ...volume, spec: { ...volume.spec, capacity: { storage: '3Gi' } } });
  await csi.f.platform.clock.advance(60_000);
  assert.equal(claim().status?.capacity?.['storage'], '3Gi');
  const expansions = csi.driver.requests.filter(({ method }) => method === 'NodeExpandVolume');
  assert.deepEqual(
    expansions.map(({ request }) => request['capacityRange']),
    [2, 3].map((gib) => ({ requiredBytes: gib * 2 ** 30, limitBytes: 0 })),
  );
  assert.equal(csi.driver.calls.filter((call) => call.startsWith('NodePublish')).length, 1);
});

test('a driver reports the use of its volumes; one that hangs delays no statistics', async (t) => {
  const csi = await start(t, { attachRequired: false }, { capabilities: ['GET_VOLUME_STATS'] });
  bind(csi);
  await mount(csi, podNamed('a'));
  const { manager, platform } = csi.f;
  assert.equal((await manager.volumeStats('uid-a')).get('data'), undefined);
  await platform.clock.settle();
  assert.deepEqual((await manager.volumeStats('uid-a')).get('data'), {
    usedBytes: 40,
    capacityBytes: 100,
    availableBytes: 60,
    inodes: 10,
    inodesUsed: 4,
    inodesFree: 6,
  });
  csi.driver.faults.set('NodeGetVolumeStats', () => new Promise<object>(() => undefined));
  await platform.clock.advance(60_000);
  assert.equal((await manager.volumeStats('uid-a')).get('data')?.usedBytes, 40);
});

test('types that were once built in go to their drivers, named when they are missing', async (t) => {
  const csi = await start(t);
  const pod = podNamed('a', { name: 'data', awsElasticBlockStore: { volumeID: 'vol-1' } });
  csi.f.pods = [pod];
  const waiting = csi.f.manager.waitForAttachAndMount(pod, never);
  waiting.catch(() => undefined);
  await csi.f.platform.clock.settle();
  assert.deepEqual(csi.f.events, [
    'Warning FailedMount MountVolume.MountDevice failed for volume "ebs.csi.aws.com-vol-1" : kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: driver name ebs.csi.aws.com not found in the list of registered CSI drivers',
  ]);
  csi.f.client.put(CSIDrivers, { metadata: { name: 'ebs.csi.aws.com' }, spec: { attachRequired: false } });
  await csi.f.platform.clock.drive(
    csi.f.csiHandler.registerPlugin({ ...fakeDriverPlugin, name: 'ebs.csi.aws.com' }, never),
  );
  await csi.f.platform.clock.drive(waiting);
  assert.deepEqual(csi.driver.calls, ['NodeStageVolume vol-1', 'NodePublishVolume vol-1']);
  await unmount(csi, pod);
  assert.deepEqual(leftOnDisk(csi), []);
});

test('a driver with an update period is asked again for its volume limit', async (t) => {
  const { f } = await start(t, { attachRequired: false, nodeAllocatableUpdatePeriodSeconds: 30 });
  const count = (): number | undefined =>
    f.client.peek(CSINodes, { name: 'node-1' })?.spec.drivers[0]?.allocatable?.count;
  assert.equal(count(), undefined);
  serveFakeDriver(f.platform, f.sockets, { info: { nodeId: 'id-of-node-1', maxVolumesPerNode: 7 } });
  await f.platform.clock.advance(30_000);
  assert.equal(count(), 7);
  await f.csiHandler.deregisterPlugin(fakeDriverPlugin, never);
  await f.platform.clock.advance(60_000);
  assert.deepEqual(f.client.peek(CSINodes, { name: 'node-1' })?.spec.drivers, []);
});
