import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Nodes, VolumeAttachments } from '../../../api/gen/resources.ts';
import {
  bind,
  DRIVER_NAME,
  leftOnDisk,
  mount,
  never,
  podNamed,
  start,
  UNIQUE,
  unmount,
} from './csi-volumes-fixture.ts';

test('a volume that the controller attaches is awaited, and in volumesInUse while it may be mounted', async (t) => {
  const csi = await start(t, { attachRequired: true });
  const { f } = csi;
  bind(csi);
  f.onNodeStatusChange = () => {
    const node = f.client.peek(Nodes, { name: 'node-1' })!;
    f.client.put(Nodes, { ...node, status: { ...node.status, volumesInUse: [...(f.manager.volumesInUse() ?? [])] } });
  };
  const pod = podNamed('a');
  f.pods = [pod];
  const waiting = assert.rejects(f.manager.waitForAttachAndMount(pod, never), {
    message:
      'unmounted volumes=[data], unattached volumes=[data], failed to process volumes=[]: context deadline exceeded',
  });
  await f.platform.clock.advance(123_000);
  await waiting;
  assert.deepEqual(f.manager.volumesInUse(), [UNIQUE]);
  assert.deepEqual(csi.driver.calls, []);
  const name = `csi-${f.platform.crypto.sha256Hex(`handle-1${DRIVER_NAME}node-1`)}`;
  f.client.put(VolumeAttachments, {
    metadata: { name },
    spec: { attacher: DRIVER_NAME, nodeName: 'node-1', source: {} },
    status: { attached: true, attachmentMetadata: { device: '/dev/sdx' } },
  } as never);
  await f.platform.clock.advance(1000);
  assert.deepEqual(csi.driver.calls, [], 'the node is not told yet');
  const node = f.client.peek(Nodes, { name: 'node-1' })!;
  f.client.put(Nodes, { ...node, status: { ...node.status, volumesAttached: [{ name: UNIQUE, devicePath: '' }] } });
  await mount(csi, pod);
  assert.deepEqual(
    csi.driver.requests.map(({ request }) => request['publishContext']),
    [{ device: '/dev/sdx' }, { device: '/dev/sdx' }],
  );
  await unmount(csi, pod);
  assert.deepEqual(f.client.peek(Nodes, { name: 'node-1' })!.status?.volumesInUse, []);
  assert.ok(f.client.peek(VolumeAttachments, { name }), 'the controller takes it back');
});

test('a pod that is deleted while its volume is being attached waits for nothing', async (t) => {
  const csi = await start(t, { attachRequired: true });
  bind(csi);
  const pod = podNamed('a');
  csi.f.pods = [pod];
  const waiting = csi.f.manager.waitForAttachAndMount(pod, new AbortController().signal);
  waiting.catch(() => undefined);
  await csi.f.platform.clock.settle();
  await unmount(csi, pod);
  assert.deepEqual([csi.driver.calls, csi.f.manager.volumesInUse(), csi.f.events], [[], [], []]);
  assert.deepEqual(leftOnDisk(csi), []);
});

test('a kubelet that attaches itself creates and deletes the attachment', async (t) => {
  const csi = await start(t, { attachRequired: true }, { attachesItself: true });
  const { f } = csi;
  bind(csi);
  const pod = podNamed('a');
  f.pods = [pod];
  const waiting = f.manager.waitForAttachAndMount(pod, never);
  await f.platform.clock.settle();
  const name = `csi-${f.platform.crypto.sha256Hex(`handle-1${DRIVER_NAME}node-1`)}`;
  const asked = f.client.peek(VolumeAttachments, { name })!;
  assert.deepEqual(asked.spec, { attacher: DRIVER_NAME, nodeName: 'node-1', source: { persistentVolumeName: 'pv-1' } });
  f.client.put(VolumeAttachments, { ...asked, status: { attached: true } });
  await f.platform.clock.drive(waiting);
  await unmount(csi, pod);
  assert.equal(f.client.peek(VolumeAttachments, { name }), undefined);
});
