/** Texts of pods that would be options, several arguments or other files to the programs that mount volumes. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Volume } from '../../api/gen/core-v1.ts';
import { Endpoints as EndpointsResource, Secrets } from '../../api/gen/resources.ts';
import { base64, createVolumeFixture, podWith, type VolumeFixture } from './volume-fixture.ts';

type Source = Omit<Volume, 'name'>;

const rbd = { monitors: ['m'], image: 'i' };
const iscsi = { targetPortal: '10.0.0.9', iqn: 'iqn.2001-04.com.example:disk', lun: 1 };
const DEVICE = '/dev/disk/by-path/ip-10.0.0.9:3260-iscsi-iqn.2001-04.com.example:disk-lun-1';

/** Each field that a program sees as itself or as part of an argument. */
const fields: Readonly<Record<string, (value: string) => Source>> = {
  image: (image) => ({ rbd: { ...rbd, image } }),
  pool: (pool) => ({ rbd: { ...rbd, pool } }),
  user: (user) => ({ rbd: { ...rbd, user } }),
  keyring: (keyring) => ({ rbd: { ...rbd, keyring } }),
  monitor: (monitor) => ({ rbd: { ...rbd, monitors: ['m', monitor] } }),
  portal: (targetPortal) => ({ iscsi: { ...iscsi, targetPortal } }),
  iqn: (iqn) => ({ iscsi: { ...iscsi, iqn } }),
  iscsiInterface: (iscsiInterface) => ({ iscsi: { ...iscsi, iscsiInterface } }),
  initiatorName: (initiatorName) => ({ iscsi: { ...iscsi, initiatorName } }),
  server: (server) => ({ nfs: { server, path: '/export' } }),
  path: (path) => ({ glusterfs: { endpoints: 'cluster', path } }),
  fsType: (fsType) => ({ iscsi: { ...iscsi, fsType } }),
};

const hostile: Readonly<Record<string, readonly string[]>> = {
  'an option': ['-c/pod/ceph.conf', '--conf=/pod/ceph.conf'],
  'a second line': ['x\ny', 'x\0y'],
};

/** Values that only some programs misinterpret. */
const special: readonly (readonly [field: string, value: string])[] = [
  ['keyring', '/etc/ceph/../shadow'],
  ['keyring', '/etc/ceph/keyring,/etc/shadow'],
  ['keyring', 'keyring'],
  ['portal', '../../../tmp/x'],
  ['portal', '10.0.0.9:3260 10.0.0.8:3260'],
  ['iqn', 'iqn.2001-04.com.example:disk/../../sda'],
  ['iscsiInterface', '../../cron.d/x'],
  ['path', 'vol --log-file=/etc/cron.d/x'],
  ['path', 'vol/../../other'],
  ['path', 'vol;reboot'],
  ['server', 'host/../x'],
  ['fsType', 'fuse.sh'],
  ['fsType', '../../tmp/mkfs'],
  ['fsType', 'ext4,fuse'],
];

async function fixtureWith(t: TestContext, source: Source): Promise<VolumeFixture> {
  const f = createVolumeFixture();
  t.after(() => f.stop());
  f.client.put(EndpointsResource, {
    metadata: { name: 'cluster', namespace: 'default' },
    subsets: [{ addresses: [{ ip: '10.0.0.1' }] }],
  });
  f.platform.exec.program('iscsiadm', () => ({}));
  f.platform.exec.program('blkid', () => ({ exitCode: 2 }));
  f.platform.exec.program('rbd', ({ args }) =>
    args[0] === 'map' ? { exitCode: 1, stderr: 'bad line: root:$6$hash' } : { stdout: '[]' },
  );
  await f.platform.files.makeDir('/dev/disk/by-path');
  f.platform.files.makeSpecial(DEVICE, 'block');
  const pod = podWith([{ name: 'vol', ...source }]);
  f.pods = [pod];
  f.start();
  f.manager.waitForAttachAndMount(pod, new AbortController().signal).catch(() => undefined);
  await f.platform.clock.settle();
  return f;
}

const cases = [
  ...Object.keys(fields).flatMap((field) =>
    Object.values(hostile).flatMap((values) => values.map((value) => [field, value] as const)),
  ),
  ...special,
];

for (const [field, value] of cases) {
  test(`${field} ${JSON.stringify(value)} reaches no program`, async (t) => {
    const f = await fixtureWith(t, fields[field]!(value));
    assert.match(f.events[0] ?? '', new RegExp(`: invalid ${field}: `));
    const given = f.platform.exec.invocations.flatMap(({ file, args }) => [file, ...args]);
    assert.deepEqual(
      given.filter((argument) => argument.includes(value)),
      [],
    );
    assert.deepEqual(f.platform.mounter.mounts, []);
  });
}

test('the keyring content that rbd quotes is in no event', async (t) => {
  const f = await fixtureWith(t, { rbd: { ...rbd, keyring: '/etc/shadow' } });
  assert.match(f.events[0] ?? '', /: rbd failed: exit status 1; its output is in the kubelet's log$/);
});

test('a CHAP secret sets the user and the password, and no other setting of the session', async (t) => {
  const f = createVolumeFixture();
  t.after(() => f.stop());
  f.client.put(Secrets, {
    metadata: { name: 'chap', namespace: 'default' },
    data: { 'node.startup': base64('automatic'), 'node.conn[0].address': base64('10.9.9.9') },
  });
  f.platform.exec.program('iscsiadm', () => ({}));
  const source = { ...iscsi, chapAuthSession: true, chapAuthDiscovery: true, secretRef: { name: 'chap' } };
  const pod = podWith([{ name: 'vol', iscsi: source }]);
  f.pods = [pod];
  f.start();
  f.manager.waitForAttachAndMount(pod, new AbortController().signal).catch(() => undefined);
  await f.platform.clock.settle();
  const set = f.platform.exec.invocations.flatMap(({ args }) => (args.includes('update') ? [args.at(-3)] : []));
  assert.deepEqual(set, ['discovery.sendtargets.auth.authmethod', 'node.session.auth.authmethod']);
});
