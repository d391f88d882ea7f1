/** CSI volumes after failures: drivers that hang or fail, kubelets that restart. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVolumeFixture, podWith } from '../volume-fixture.ts';
import { bind, leftOnDisk, mount, never, podNamed, register, start, unmount } from './csi-volumes-fixture.ts';

test('a driver that hangs keeps only its own pod waiting', async (t) => {
  const csi = await start(t);
  bind(csi);
  csi.driver.faults.set('NodeStageVolume', () => new Promise<object>(() => undefined));
  csi.f.pods = [podNamed('a')];
  const stuck = csi.f.manager.waitForAttachAndMount(podNamed('a'), never);
  stuck.catch(() => undefined);
  await csi.f.platform.clock.settle();
  const other = podWith([{ name: 'data', emptyDir: {} }]);
  await csi.f.manager.waitForAttachAndMount(other, never);
  await csi.f.platform.clock.advance(121_000);
  assert.deepEqual(csi.f.events, [
    'Warning FailedMount MountVolume.MountDevice failed for volume "pv-1" : rpc error: code = DeadlineExceeded desc = context deadline exceeded',
  ]);
});

test('a restarted kubelet removes leftover volumes: unpublished, then unstaged, when the driver is back', async (t) => {
  const first = await start(t);
  bind(first);
  await mount(first, podNamed('a'));
  first.f.stop();
  const f = createVolumeFixture(first.f.platform, { client: first.f.client, sockets: first.f.sockets });
  t.after(() => f.stop());
  const second = { f, driver: first.driver };
  f.start();
  await f.platform.clock.advance(20_000);
  assert.equal(f.manager.podHasVolumes('uid-a'), true);
  await register(f);
  await f.platform.clock.advance(40_000);
  assert.deepEqual(first.driver.calls.slice(2), ['NodeUnpublishVolume handle-1', 'NodeUnstageVolume handle-1']);
  assert.equal(f.manager.podHasVolumes('uid-a'), false);
  assert.deepEqual(f.platform.mounter.mounts, []);
  assert.deepEqual(leftOnDisk(second), []);
});

test('a restarted kubelet keeps the volumes of existing pods', async (t) => {
  const first = await start(t, { attachRequired: false });
  bind(first);
  await mount(first, podNamed('a'));
  first.f.stop();
  const f = createVolumeFixture(first.f.platform, { client: first.f.client, sockets: first.f.sockets });
  t.after(() => f.stop());
  f.pods = [podNamed('a')];
  f.start();
  await register(f);
  await mount({ f, driver: first.driver }, podNamed('a'));
  await f.platform.clock.advance(20_000);
  assert.equal(
    first.driver.calls.some((call) => call.startsWith('NodeUn')),
    false,
  );
  await unmount({ f, driver: first.driver }, podNamed('a'));
  assert.deepEqual(f.platform.mounter.mounts, []);
});

test('a failed unpublish is retried, and the rest of the pod is deleted meanwhile', async (t) => {
  const csi = await start(t);
  bind(csi);
  const pod = podNamed('a');
  await mount(csi, pod);
  let failures = 3;
  csi.driver.faults.set('NodeUnpublishVolume', async () => {
    if (failures-- > 0) throw new Error('busy');
    return {};
  });
  await unmount(csi, pod);
  assert.deepEqual(leftOnDisk(csi), []);
});

test('a driver that hangs while an earlier process is cleaned up after delays no other pod', async (t) => {
  const first = await start(t);
  bind(first);
  await mount(first, podNamed('a'));
  await mount(first, podNamed('b', { name: 'data', emptyDir: { medium: 'Memory' } }));
  first.f.stop();
  first.driver.faults.set('NodeUnpublishVolume', () => new Promise<object>(() => undefined));
  const f = createVolumeFixture(first.f.platform, { client: first.f.client, sockets: first.f.sockets });
  t.after(() => f.stop());
  f.start();
  await register(f);
  await f.platform.clock.advance(15_000);
  assert.deepEqual([f.manager.podHasVolumes('uid-a'), f.manager.podHasVolumes('uid-b')], [true, false]);
});

test('after an unstage with an unknown result, the next pod has the volume staged again', async (t) => {
  const csi = await start(t);
  bind(csi);
  const [a, b] = [podNamed('a'), podNamed('b')];
  await mount(csi, a);
  csi.driver.faults.set('NodeUnstageVolume', async () => {
    throw new Error('who knows');
  });
  await unmount(csi, a);
  await mount(csi, b);
  assert.deepEqual(
    csi.driver.calls.filter((call) => !call.includes('ublish')),
    ['NodeStageVolume handle-1', 'NodeUnstageVolume handle-1', 'NodeStageVolume handle-1'],
  );
  csi.driver.faults.clear();
  await unmount(csi, b);
  assert.deepEqual(leftOnDisk(csi), []);
});
