import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Pod, Volume } from '../../api/gen/core-v1.ts';
import { PersistentVolumeClaims, PersistentVolumes, Secrets } from '../../api/gen/resources.ts';
import { base64, createVolumeFixture, FIXTURE_ROOT, podWith, type VolumeFixture } from './volume-fixture.ts';

const never = new AbortController().signal;

function start(t: TestContext, options: Parameters<typeof createVolumeFixture>[1] = {}): VolumeFixture {
  const f = createVolumeFixture(undefined, options);
  t.after(() => f.stop());
  f.start();
  return f;
}

function podNamed(name: string, volume: Omit<Volume, 'name'>): Pod {
  return podWith([{ name: 'data', ...volume }], { metadata: { name, namespace: 'default', uid: `uid-${name}` } });
}

async function mount(f: VolumeFixture, pod: Pod): Promise<void> {
  f.pods = [...f.pods, pod];
  await f.platform.clock.drive(f.manager.waitForAttachAndMount(pod, never));
}

async function unmount(f: VolumeFixture, pod: Pod): Promise<void> {
  f.pods = f.pods.filter((other) => other !== pod);
  await f.platform.clock.drive(f.manager.waitForUnmount(pod, never));
}

/** Programs and first arguments, in order. */
function ran(f: VolumeFixture, file: string): string[] {
  return f.platform.exec.invocations.filter((call) => call.file === file).map(({ args }) => args.join(' '));
}

async function firstEvent(f: VolumeFixture, pod: Pod): Promise<string> {
  f.pods = [pod];
  f.manager.waitForAttachAndMount(pod, never).catch(() => undefined);
  await f.platform.clock.settle();
  return f.events[0] ?? '';
}

async function addIscsi(f: VolumeFixture, luns: readonly number[], content = 'TYPE=ext4'): Promise<void> {
  const { exec, files } = f.platform;
  exec.program('iscsiadm', () => ({}));
  exec.program('blkid', () => (content === '' ? { exitCode: 2 } : { stdout: content }));
  exec.program('mkfs.ext4', () => ({}));
  exec.program('fsck', () => ({}));
  await files.makeDir('/dev/disk/by-path');
  for (const lun of luns) files.makeSpecial(`/dev/disk/by-path/ip-10.0.0.9:3260-iscsi-iqn.x-lun-${lun}`, 'block');
}

const iscsi = (lun: number): Omit<Volume, 'name'> => ({ iscsi: { targetPortal: '10.0.0.9', iqn: 'iqn.x', lun } });

test('a device is mounted once for two pods; its session ends with the last of its LUNs', async (t) => {
  const f = start(t);
  await addIscsi(f, [1, 2]);
  const [a, b, c] = [podNamed('a', iscsi(1)), podNamed('b', iscsi(1)), podNamed('c', iscsi(2))];
  for (const pod of [a, b, c]) await mount(f, pod);
  assert.deepEqual(
    f.platform.mounter.mounts.map(({ type }) => type),
    ['ext4', 'none', 'none', 'ext4', 'none'],
  );
  await unmount(f, a);
  assert.equal(f.platform.mounter.mounts.length, 4);
  await unmount(f, b);
  assert.deepEqual(
    ran(f, 'iscsiadm').filter((args) => args.endsWith('--logout')),
    [],
  );
  await unmount(f, c);
  assert.deepEqual(ran(f, 'iscsiadm').slice(-2), [
    '-m node -p 10.0.0.9:3260 -T iqn.x -I default --logout',
    '-m node -p 10.0.0.9:3260 -T iqn.x -I default -o delete',
  ]);
  assert.deepEqual(f.platform.mounter.mounts, []);
  const left = Object.keys(f.platform.files.snapshot()).filter((path) => /iscsi\/mounts\/./.test(path));
  assert.deepEqual(left, []);
});

test('devices that an earlier process attached are detached', async (t) => {
  const f = start(t);
  await addIscsi(f, [1]);
  await mount(f, podNamed('a', iscsi(1)));
  f.stop();
  const next = createVolumeFixture(f.platform);
  t.after(() => next.stop());
  next.start();
  await next.platform.clock.advance(15_000);
  assert.deepEqual(next.platform.mounter.mounts, []);
  assert.equal(ran(next, 'iscsiadm').filter((args) => args.endsWith('--logout')).length, 1);
});

test('only an empty device is formatted', async (t) => {
  for (const [content, formatted, message] of [
    ['', ['-F -m0 /dev/disk/by-path/ip-10.0.0.9:3260-iscsi-iqn.x-lun-1'], ''],
    ['TYPE=ext4', [], ''],
    ['TYPE=xfs', [], 'failed to mount the volume as "ext4", it already contains xfs'],
    ['PTTYPE=dos', [], 'failed to mount the volume as "ext4", it already contains unknown data, probably partitions'],
  ] as const) {
    const f = start(t);
    await addIscsi(f, [1], content);
    const event = await firstEvent(f, podNamed('a', iscsi(1)));
    assert.deepEqual(ran(f, 'mkfs.ext4'), formatted);
    assert.equal(event, message && `Warning FailedMount MountVolume.SetUp failed for volume "data" : ${message}`);
  }
});

test('CHAP secrets are passed to the session, by their names', async (t) => {
  const f = start(t);
  await addIscsi(f, [1]);
  f.client.put(Secrets, {
    metadata: { name: 'chap', namespace: 'default' },
    data: { 'node.session.auth.username': base64('me'), 'discovery.sendtargets.auth.username': base64('you') },
  });
  const source = { ...iscsi(1).iscsi!, chapAuthSession: true, secretRef: { name: 'chap' } };
  await mount(f, podNamed('a', { iscsi: source }));
  assert.deepEqual(
    ran(f, 'iscsiadm').filter((args) => args.includes('auth')),
    [
      '-m node -p 10.0.0.9:3260 -T iqn.x -I default -o update -n node.session.auth.authmethod -v CHAP',
      '-m node -p 10.0.0.9:3260 -T iqn.x -I default -o update -n node.session.auth.username -v me',
    ],
  );
});

test('programs that are missing are named', async (t) => {
  for (const [source, message] of [
    [
      iscsi(1),
      'failed to get any path for iscsi disk: 10.0.0.9:3260: the program iscsiadm is not installed on the node',
    ],
    [{ rbd: { monitors: ['m'], image: 'i' } }, 'the program rbd is not installed on the node'],
    [{ flexVolume: { driver: 'example.com/disk' } }, 'no flexVolume driver example.com/disk in /flex'],
    [{ gitRepo: { repository: 'r' } }, "failed to exec 'git clone -- r': the program git is not installed on the node"],
  ] as const) {
    const f = start(t, { gitRepo: true });
    const event = await firstEvent(f, podNamed('a', source as Omit<Volume, 'name'>));
    assert.equal(event, `Warning FailedMount MountVolume.SetUp failed for volume "data" : ${message}`);
  }
});

test('git repositories are refused unless the gate is on; paths outside the volume always', async (t) => {
  for (const [gitRepo, source, message] of [
    [
      false,
      { repository: 'r' },
      'git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`',
    ],
    [true, { repository: '-u' }, 'invalid repository: "-u" is not a valid value for repository'],
    [true, { repository: 'r', revision: '-x' }, 'invalid revision: "-x" is not a valid value for revision'],
    [true, { repository: 'r', directory: '../x' }, `invalid directory: "../x" must be a relative path without '..'`],
    [true, { repository: 'r', directory: 'a/b' }, 'invalid directory: "a/b" must be a single name'],
  ] as const) {
    const f = start(t, { gitRepo });
    const event = await firstEvent(f, podNamed('a', { gitRepo: source }));
    assert.equal(event, `Warning FailedMount MountVolume.SetUp failed for volume "data" : ${message}`);
  }
});

test('a file system on a local device is mounted once and bound', async (t) => {
  const f = start(t);
  await f.platform.files.makeDir('/dev');
  f.platform.files.makeSpecial('/dev/vdb', 'block');
  f.platform.exec.program('blkid', () => ({ exitCode: 2 }));
  f.platform.exec.program('mkfs.xfs', () => ({}));
  f.client.put(PersistentVolumeClaims, {
    metadata: { name: 'c', namespace: 'default', uid: 'claim' },
    spec: { volumeName: 'pv' },
    status: { phase: 'Bound' },
  });
  f.client.put(PersistentVolumes, {
    metadata: { name: 'pv' },
    spec: { local: { path: '/dev/vdb', fsType: 'xfs' }, claimRef: { uid: 'claim' } },
  });
  const pod = podNamed('a', { persistentVolumeClaim: { claimName: 'c' } });
  await mount(f, pod);
  assert.deepEqual(
    f.platform.mounter.mounts.map(({ source, path }) => [source, path]),
    [
      ['/dev/vdb', `${FIXTURE_ROOT}/plugins/kubernetes.io/local-volume/mounts/pv`],
      [
        `${FIXTURE_ROOT}/plugins/kubernetes.io/local-volume/mounts/pv`,
        `${FIXTURE_ROOT}/pods/uid-a/volumes/kubernetes.io~local-volume/pv`,
      ],
    ],
  );
  await unmount(f, pod);
  assert.deepEqual(f.platform.mounter.mounts, []);
});

test('a flexVolume driver that attaches is called in order, and again when its program changes', async (t) => {
  const f = start(t);
  const { files, exec, mounter } = f.platform;
  await files.makeDir('/flex/example.com~disk');
  await files.writeFile('/flex/example.com~disk/disk', 'v1');
  const calls: string[] = [];
  exec.program('disk', async ({ args }) => {
    const [command = '', first = ''] = args;
    calls.push(command);
    if (command === 'mountdevice') await mounter.mount({ source: args[2]!, target: first, type: 'ext4' });
    if (command === 'unmountdevice') await mounter.unmount(first);
    if (command === 'mount' || command === 'unmount') return { stdout: '{"status":"Not supported"}', exitCode: 1 };
    const device = command === 'attach' || command === 'waitforattach' ? ',"device":"/dev/x"' : '';
    const volumeName = command === 'getvolumename' ? ',"volumeName":"disk-7"' : '';
    return { stdout: `{"status":"Success"${device}${volumeName}}` };
  });
  const pod = podNamed('a', { flexVolume: { driver: 'example.com/disk', options: { size: '1' } } });
  await mount(f, pod);
  assert.deepEqual(
    mounter.mounts.map(({ source }) => source.split('/').at(-1)),
    ['x', 'example.com%2Fdisk-disk-7'],
  );
  await files.remove('/flex/example.com~disk/disk');
  await f.platform.clock.advance(10);
  await files.writeFile('/flex/example.com~disk/disk', 'v2');
  await unmount(f, pod);
  assert.deepEqual(calls, [
    ...['init', 'getvolumename', 'attach', 'waitforattach', 'mountdevice', 'mount'],
    ...['init', 'unmount', 'unmountdevice', 'detach'],
  ]);
  const options = JSON.parse(exec.invocations.find(({ args }) => args[0] === 'mount')!.args[2]!) as object;
  assert.deepEqual(options, {
    size: '1',
    'kubernetes.io/fsType': '',
    'kubernetes.io/readwrite': 'rw',
    'kubernetes.io/pvOrVolumeName': 'data',
    'kubernetes.io/pod.name': 'a',
    'kubernetes.io/pod.namespace': 'default',
    'kubernetes.io/pod.uid': 'uid-a',
    'kubernetes.io/serviceAccount.name': 'robot',
  });
  assert.deepEqual(mounter.mounts, []);
});

test('the error of a flexVolume driver is reported', async (t) => {
  const f = start(t);
  await f.platform.files.makeDir('/flex/disk');
  await f.platform.files.writeFile('/flex/disk/disk', '');
  f.platform.exec.program('disk', () => ({ stdout: '{"status":"Failure","message":"no disk"}', exitCode: 1 }));
  assert.equal(
    await firstEvent(f, podNamed('a', { flexVolume: { driver: 'disk' } })),
    'Warning FailedMount MountVolume.SetUp failed for volume "data" : init command failed, status: Failure, reason: no disk',
  );
});

const withoutProgram: readonly (readonly [string, Omit<Volume, 'name'>])[] = [
  ['iscsiadm', iscsi(1)],
  ['rbd', { rbd: { monitors: ['10.0.0.9'], image: 'x' } }],
];
for (const [program, volume] of withoutProgram)
  test(`a pod whose volume needs ${program}, which is not installed, is deleted at once`, async (t) => {
    const f = start(t);
    const pod = podNamed('a', volume);
    assert.match(await firstEvent(f, pod), new RegExp(`the program ${program} is not installed on the node`));
    await unmount(f, pod);
    const plugin = volume.rbd === undefined ? 'iscsi' : 'rbd';
    const record = `${FIXTURE_ROOT}/pods/uid-a/plugins/kubernetes.io~${plugin}/data`;
    assert.equal(await f.platform.files.exists(record), false);
  });

test('a teardown that fails is tried again at growing intervals', async (t) => {
  const f = start(t);
  await addIscsi(f, [1]);
  const pod = podNamed('a', iscsi(1));
  await mount(f, pod);
  f.platform.exec.program('iscsiadm', () => ({ exitCode: 1, stderr: 'busy' }));
  f.pods = [];
  f.manager.waitForUnmount(pod, never).catch(() => undefined);
  const before = ran(f, 'iscsiadm').length;
  await f.platform.clock.advance(10 * 60_000);
  const tries = ran(f, 'iscsiadm').length - before;
  assert.ok(tries > 5 && tries < 40, `${tries} calls in ten minutes`);
});
