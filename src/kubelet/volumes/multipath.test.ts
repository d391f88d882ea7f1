/** Several paths to one disk: by iSCSI and by Fibre Channel. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Pod, Volume } from '../../api/gen/core-v1.ts';
import { createVolumeFixture, podWith, type VolumeFixture } from './volume-fixture.ts';

const never = new AbortController().signal;

async function start(t: TestContext): Promise<VolumeFixture> {
  const f = createVolumeFixture();
  t.after(() => f.stop());
  for (const program of ['iscsiadm', 'blkid', 'blockdev', 'multipath', 'mkfs.ext4'])
    f.platform.exec.program(program, () => (program === 'blkid' ? { stdout: 'TYPE=ext4' } : {}));
  await f.platform.files.makeDir('/dev/disk/by-path');
  await f.platform.files.makeDir('/dev/disk/by-id');
  f.start();
  return f;
}

async function addDisk({ platform: { files } }: VolumeFixture, disk: string, link: string): Promise<void> {
  files.makeSpecial(`/dev/${disk}`, 'block');
  await files.makeDir(`/sys/block/${disk}/device`);
  await files.symlink(`../../${disk}`, link);
}

const addMapper = ({ platform: { files } }: VolumeFixture, disk: string): Promise<void> =>
  files.makeDir(`/sys/block/dm-3/slaves/${disk}`);

const podNamed = (name: string, volume: object): Pod =>
  podWith([{ name: 'data', ...volume } as Volume], { metadata: { name, namespace: 'default', uid: `uid-${name}` } });

async function mount(f: VolumeFixture, pod: Pod): Promise<string> {
  f.pods = [pod];
  await f.platform.clock.drive(f.manager.waitForAttachAndMount(pod, never));
  return f.platform.mounter.mounts.find(({ type }) => type === 'ext4')?.source ?? '';
}

async function unmount(f: VolumeFixture, pod: Pod): Promise<void> {
  f.pods = [];
  await f.platform.clock.drive(f.manager.waitForUnmount(pod, never));
  await f.platform.clock.settle();
}

const ran = ({ platform }: VolumeFixture, program: string): string[] =>
  platform.exec.invocations.filter(({ file }) => file.endsWith(program)).map(({ args }) => args.join(' '));

const portals = ['10.0.0.1:3260', '10.0.0.2:3260'];
const iscsi = { iscsi: { targetPortal: '10.0.0.1', portals: ['10.0.0.2'], iqn: 'iqn.x', lun: 1 } };
const linkOf = (portal: string): string => `/dev/disk/by-path/ip-${portal}-iscsi-iqn.x-lun-1`;

test('iSCSI logs in to every portal and uses the device over all paths', async (t) => {
  const f = await start(t);
  for (const [at, portal] of portals.entries()) await addDisk(f, `sd${at}`, linkOf(portal));
  await addMapper(f, 'sd0');
  await addMapper(f, 'sd1');
  const pod = podNamed('a', iscsi);
  assert.equal(await mount(f, pod), '/dev/dm-3');
  assert.equal(ran(f, 'iscsiadm').filter((args) => args.endsWith('--login')).length, 2);
  await unmount(f, pod);
  assert.deepEqual(ran(f, 'multipath')[0], '-f /dev/dm-3');
  assert.equal(ran(f, 'iscsiadm').filter((args) => args.endsWith('--logout')).length, 2);
});

test('iSCSI makes do with the paths there are, and with the first where nothing puts them together', async (t) => {
  const without = await start(t);
  await addDisk(without, 'sda', linkOf(portals[1]!));
  assert.equal(await mount(without, podNamed('a', iscsi)), linkOf(portals[1]!), 'the first portal does not answer');
  const apart = await start(t);
  for (const [at, portal] of portals.entries()) await addDisk(apart, `sd${at}`, linkOf(portal));
  assert.equal(await mount(apart, podNamed('a', iscsi)), linkOf(portals[0]!));
  const none = await start(t);
  const pod = podNamed('a', iscsi);
  none.pods = [pod];
  await assert.rejects(
    none.platform.clock.drive(none.manager.waitForAttachAndMount(pod, never)),
    /unmounted volumes=\[data\]/,
  );
});

test('Fibre Channel finds a disk by its paths or its id, rescans, and removes it from the kernel', async (t) => {
  const f = await start(t);
  const { files } = f.platform;
  await files.makeDir('/sys/class/scsi_host/host0');
  const links = ['aa', 'bb'].map((wwn) => `/dev/disk/by-path/pci-0000:00:01.0-fc-0x50${wwn}-lun-7`);
  await addDisk(f, 'sdb', links[0]!);
  await addDisk(f, 'sdc', links[1]!);
  await addDisk(f, 'sdd', '/dev/disk/by-path/pci-0000:00:01.0-fc-0x50aa-lun-77');
  await addMapper(f, 'sdc');
  const pod = podNamed('a', { fc: { targetWWNs: ['50AA', '50bb'], lun: 7 } });
  assert.equal(await mount(f, pod), '/dev/dm-3');
  await unmount(f, pod);
  const forgotten = await Promise.all(['sdb', 'sdc'].map((disk) => files.readText(`/sys/block/${disk}/device/delete`)));
  assert.deepEqual(forgotten, ['1', '1']);
  assert.equal(await files.exists('/sys/block/sdd/device/delete'), false);

  const byId = await start(t);
  await addDisk(byId, 'sde', '/dev/disk/by-id/scsi-3600_a0');
  assert.equal(await mount(byId, podNamed('b', { fc: { wwids: ['3600 a0'] } })), '/dev/disk/by-id/scsi-3600_a0');

  const later = await start(t);
  await later.platform.files.makeDir('/sys/class/scsi_host/host0');
  const wanted = podNamed('c', { fc: { targetWWNs: ['50aa'], lun: 7 } });
  later.pods = [wanted];
  const mounting = later.manager.waitForAttachAndMount(wanted, never);
  await later.platform.clock.settle();
  assert.equal(await later.platform.files.readText('/sys/class/scsi_host/host0/scan'), '- - -');
  await addDisk(later, 'sdf', links[0]!);
  await later.platform.clock.drive(mounting);
});
