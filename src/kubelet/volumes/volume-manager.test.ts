/** The volume manager under virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, Volume } from '../../api/gen/core-v1.ts';
import { ConfigMaps, PersistentVolumeClaims, PersistentVolumes, Secrets } from '../../api/gen/resources.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { base64, createVolumeFixture, FIXTURE_ROOT, podWith, type VolumeFixture } from './volume-fixture.ts';

const VOLUMES = `${FIXTURE_ROOT}/pods/uid-1/volumes`;
const MEMORY = `${FIXTURE_ROOT}/memory-volumes/uid-1`;
const never = new AbortController().signal;

/** The error the wait ended with, or undefined while it goes on. */
function watchWait(wait: Promise<void>): { state: 'waiting' | 'done' | Error } {
  const seen: { state: 'waiting' | 'done' | Error } = { state: 'waiting' };
  wait.then(
    () => (seen.state = 'done'),
    (error: Error) => (seen.state = error),
  );
  return seen;
}

async function mountAll(fixture: VolumeFixture, pod: Pod): Promise<void> {
  const seen = watchWait(fixture.manager.waitForAttachAndMount(pod, never));
  await fixture.platform.clock.settle();
  assert.equal(seen.state, 'done');
}

const configVolume: Volume = { name: 'config', configMap: { name: 'settings' } };

function putConfig(fixture: VolumeFixture, data: Record<string, string>): void {
  fixture.client.put(ConfigMaps, { metadata: { namespace: 'default', name: 'settings' }, data } as never);
}

test('a config map volume follows the object', async (t) => {
  const fixture = createVolumeFixture();
  t.after(() => fixture.stop());
  fixture.start();
  putConfig(fixture, { a: '1', b: '2' });
  await mountAll(fixture, podWith([configVolume]));
  const dir = `${VOLUMES}/kubernetes.io~configmap/config`;
  assert.equal(await fixture.platform.files.readText(`${dir}/a`), '1');
  assert.deepEqual(
    [...fixture.manager.mountedVolumes('uid-1').values()],
    [{ name: 'config', hostPath: dir, readOnly: true, selinuxRelabel: true, block: false }],
  );
  putConfig(fixture, { a: 'new', c: '3' });
  await fixture.platform.clock.settle();
  assert.equal(await fixture.platform.files.readText(`${dir}/a`), 'new');
  const names = await fixture.platform.files.readDir(dir);
  assert.deepEqual(
    names.filter((name) => !name.startsWith('..')),
    ['a', 'c'],
  );
  assert.equal(names.filter((name) => name.startsWith('..2')).length, 1);
});

test('a missing config map: event, back-off, and at once when it appears', async (t) => {
  const fixture = createVolumeFixture();
  t.after(() => fixture.stop());
  fixture.start();
  fixture.pods = [podWith([configVolume])];
  const seen = watchWait(fixture.manager.waitForAttachAndMount(fixture.pods[0]!, never));
  const text = 'Warning FailedMount MountVolume.SetUp failed for volume "config" : configmap "settings" not found';
  await fixture.platform.clock.settle();
  assert.deepEqual([...new Set(fixture.events)], [text]);
  await fixture.platform.clock.advance(3600);
  assert.ok(fixture.events.length >= 4, 'retried after 0.5, 1 and 2 s');
  assert.equal(seen.state, 'waiting');
  putConfig(fixture, { a: '1' });
  await fixture.platform.clock.settle();
  assert.equal(seen.state, 'done');
});

test('a wait ends after 2 min 3 s and names the missing volumes', async (t) => {
  const fixture = createVolumeFixture();
  t.after(() => fixture.stop());
  fixture.start();
  const pod = podWith([configVolume, { name: 'scratch', emptyDir: {} }]);
  fixture.pods = [pod];
  const seen = watchWait(fixture.manager.waitForAttachAndMount(pod, never));
  await fixture.platform.clock.advance(122_999);
  assert.equal(seen.state, 'waiting');
  await fixture.platform.clock.advance(1);
  assert.equal(
    (seen.state as unknown as Error).message,
    'unmounted volumes=[config], unattached volumes=[], failed to process volumes=[]: context deadline exceeded',
  );
});

test('an aborted wait rejects with the reason', async (t) => {
  const fixture = createVolumeFixture();
  t.after(() => fixture.stop());
  const controller = new AbortController();
  const seen = watchWait(fixture.manager.waitForAttachAndMount(podWith([configVolume]), controller.signal));
  await fixture.platform.clock.settle();
  const reason = new Error('the pod goes');
  controller.abort(reason);
  await fixture.platform.clock.settle();
  assert.equal(seen.state, reason);
});

test('optional sources that are not there make empty volumes', async (t) => {
  const fixture = createVolumeFixture();
  t.after(() => fixture.stop());
  fixture.start();
  await mountAll(
    fixture,
    podWith([
      { name: 'config', configMap: { name: 'settings', optional: true } },
      { name: 'secret', secret: { secretName: 'none', optional: true } },
    ]),
  );
  assert.deepEqual(
    (await fixture.platform.files.readDir(`${VOLUMES}/kubernetes.io~configmap/config`)).filter(
      (name) => !name.startsWith('..'),
    ),
    [],
  );
  putConfig(fixture, { late: 'x' });
  await fixture.platform.clock.settle();
  assert.equal(await fixture.platform.files.readText(`${VOLUMES}/kubernetes.io~configmap/config/late`), 'x');
});

test('secrets of all pods share one tmpfs and keep their path', async (t) => {
  const fixture = createVolumeFixture();
  t.after(() => fixture.stop());
  fixture.start();
  fixture.client.put(Secrets, {
    metadata: { namespace: 'default', name: 'keys' },
    data: { key: base64('hush') },
  } as never);
  const volume: Volume = { name: 'keys', secret: { secretName: 'keys', defaultMode: 0o400 } };
  await mountAll(fixture, podWith([volume]));
  await mountAll(fixture, podWith([volume], { metadata: { name: 'other', namespace: 'default', uid: 'uid-2' } }));
  assert.equal(fixture.platform.mounter.mounts.length, 1);
  assert.equal(fixture.platform.mounter.mounts[0]!.type, 'tmpfs');
  const path = `${VOLUMES}/kubernetes.io~secret/keys`;
  assert.equal(await fixture.platform.files.readLink(path), `${MEMORY}/kubernetes.io~secret/keys`);
  assert.equal(await fixture.platform.files.readText(`${path}/key`), 'hush');
  assert.equal((await fixture.platform.files.stat(`${path}/key`)).mode, 0o400);
});

test('projected token: bound, renewed at 80 % of its life, kept while renewal fails', async (t) => {
  const fixture = createVolumeFixture();
  t.after(() => fixture.stop());
  fixture.start();
  const pod = podWith([
    {
      name: 'token',
      projected: {
        sources: [
          { serviceAccountToken: { path: 'token', audience: 'vault', expirationSeconds: 3600 } },
          { downwardAPI: { items: [{ path: 'ns', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
        ],
      },
    },
  ]);
  fixture.pods = [pod];
  await mountAll(fixture, pod);
  const dir = fixture.manager.mountedVolumes('uid-1').get('token')!.hostPath;
  const token = (): Promise<string> => fixture.platform.files.readText(`${dir}/token`);
  assert.equal(await token(), 'token-1');
  assert.equal(await fixture.platform.files.readText(`${dir}/ns`), 'default');
  assert.deepEqual(fixture.tokenRequests, ['robot/vault/3600/uid-1']);
  await fixture.platform.clock.advance(2_869_000);
  assert.equal(await token(), 'token-1');
  await fixture.platform.clock.advance(12_000);
  assert.equal(await token(), 'token-2');
  fixture.tokenError = new Error('the server is away');
  await fixture.platform.clock.advance(2_900_000);
  assert.equal(await token(), 'token-2');
  assert.deepEqual(fixture.events, []);
  fixture.tokenError = undefined;
  await fixture.platform.clock.advance(20_000);
  assert.equal(await token(), 'token-3');
});

test('tokens are private when the pod has a user or an fsGroup', async (t) => {
  const fixture = createVolumeFixture();
  t.after(() => fixture.stop());
  fixture.start();
  const token: Volume = { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } };
  await mountAll(
    fixture,
    podWith([token], { spec: { containers: [], securityContext: { runAsUser: 1000, fsGroup: 2000 } } }),
  );
  const dir = fixture.manager.mountedVolumes('uid-1').get('token')!.hostPath;
  const { uid, gid, mode } = await fixture.platform.files.stat(`${dir}/token`);
  assert.deepEqual({ uid, gid, mode }, { uid: 1000, gid: 2000, mode: 0o640 });
});

test('downward API volumes follow labels', async (t) => {
  const fixture = createVolumeFixture();
  t.after(() => fixture.stop());
  fixture.start();
  const volume: Volume = {
    name: 'info',
    downwardAPI: {
      items: [
        { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
        { path: 'limits/cpu', resourceFieldRef: { containerName: 'app', resource: 'limits.cpu' } },
      ],
    },
  };
  const withLabels = (labels: Record<string, string>): Pod =>
    podWith([volume], { metadata: { name: 'web', namespace: 'default', uid: 'uid-1', labels } });
  await mountAll(fixture, withLabels({ app: 'web' }));
  const dir = fixture.manager.mountedVolumes('uid-1').get('info')!.hostPath;
  assert.equal(await fixture.platform.files.readText(`${dir}/labels`), 'app="web"');
  assert.equal(await fixture.platform.files.readText(`${dir}/limits/cpu`), '4');
  await mountAll(fixture, withLabels({ app: 'web', tier: '"1"' }));
  assert.equal(await fixture.platform.files.readText(`${dir}/labels`), 'app="web"\ntier="\\"1\\""');
});

test('unused volumes are not made', async (t) => {
  const fixture = createVolumeFixture();
  t.after(() => fixture.stop());
  const pod = podWith([]);
  await mountAll(fixture, { ...pod, spec: { ...pod.spec!, volumes: [configVolume] } });
  assert.equal(fixture.manager.mountedVolumes('uid-1').size, 0);
});

test('teardown removes own files, unmounts mounts and ends the watches', async (t) => {
  const fixture = createVolumeFixture();
  t.after(() => fixture.stop());
  fixture.start();
  putConfig(fixture, { a: '1' });
  await fixture.platform.files.makeDir('/data');
  await fixture.platform.files.writeFile('/data/precious', 'keep');
  const pod = podWith([
    configVolume,
    { name: 'mem', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
    { name: 'host', hostPath: { path: '/data', type: 'Directory' } },
  ]);
  fixture.pods = [pod];
  await mountAll(fixture, pod);
  assert.deepEqual(
    fixture.platform.mounter.mounts.map(({ options }) => options),
    [['size=1048576']],
  );
  assert.equal(fixture.manager.podHasVolumes('uid-1'), true);
  assert.equal(fixture.client.watching, 1);
  await fixture.manager.waitForUnmount(pod, never);
  assert.equal(fixture.manager.podHasVolumes('uid-1'), false);
  assert.equal(fixture.platform.mounter.mounts.length, 0);
  assert.equal(await fixture.platform.files.readText('/data/precious'), 'keep');
  assert.deepEqual(await fixture.platform.files.readDir(VOLUMES), []);
  await fixture.platform.clock.settle();
  assert.equal(fixture.client.watching, 0);
});

test('teardown is retried when an unmount fails', async (t) => {
  const fixture = createVolumeFixture();
  t.after(() => fixture.stop());
  fixture.start();
  const pod = podWith([{ name: 'mem', emptyDir: { medium: 'Memory' } }]);
  fixture.pods = [pod];
  await mountAll(fixture, pod);
  fixture.platform.mounter.failNext(`${VOLUMES}/kubernetes.io~empty-dir/mem`, new Error('target is busy'));
  const seen = watchWait(fixture.manager.waitForUnmount(pod, never));
  await fixture.platform.clock.settle();
  assert.equal(seen.state, 'waiting');
  const [awaited] = fixture.manager.awaitedVolumes('uid-1');
  assert.deepEqual([awaited?.name, awaited?.waitsFor], ['mem', 'unmount']);
  assert.match(awaited?.error ?? '', /target is busy/);
  await fixture.platform.clock.advance(500);
  assert.equal(seen.state, 'done');
  assert.deepEqual(fixture.manager.awaitedVolumes('uid-1'), []);
});

test('the mount of a dead server is detached from the tree', async (t) => {
  const fixture = createVolumeFixture();
  t.after(() => fixture.stop());
  fixture.start();
  const pod = podWith([{ name: 'share', nfs: { server: 'gone', path: '/x' } }]);
  fixture.pods = [pod];
  await mountAll(fixture, pod);
  fixture.platform.mounter.failNext(`${VOLUMES}/kubernetes.io~nfs/share`, new Error('umount timed out'));
  await fixture.manager.waitForUnmount(pod, never);
  assert.equal(fixture.platform.mounter.mounts.length, 0);
});

test('leftover volumes are removed once the sources are ready, those of existing pods stay', async (t) => {
  const platform = createSimPlatform();
  const left = `${FIXTURE_ROOT}/pods/gone/volumes/kubernetes.io~empty-dir/x/file`;
  const kept = `${VOLUMES}/kubernetes.io~empty-dir/scratch/file`;
  for (const path of [left, kept]) {
    await platform.files.makeDir(path.slice(0, path.lastIndexOf('/')));
    await platform.files.writeFile(path, 'data');
  }
  await platform.mounter.mount({
    source: 'server:/x',
    target: `${FIXTURE_ROOT}/pods/gone/volumes/kubernetes.io~nfs/share`,
    type: 'nfs',
  });
  await platform.files.makeDir(`${FIXTURE_ROOT}/pods/gone/volumes/kubernetes.io~nfs/share`);
  const fixture = createVolumeFixture(platform);
  t.after(() => fixture.stop());
  fixture.sourcesReady = false;
  assert.equal(fixture.manager.podHasVolumes('anything'), true);
  fixture.start();
  await platform.clock.advance(60_000);
  assert.equal(fixture.manager.podHasVolumes('anything'), false);
  assert.equal(fixture.manager.podHasVolumes('gone'), true);
  fixture.sourcesReady = true;
  fixture.pods = [podWith([{ name: 'scratch', emptyDir: {} }])];
  await platform.clock.advance(11_000);
  assert.equal(fixture.manager.podHasVolumes('gone'), false);
  assert.equal(platform.mounter.mounts.length, 0);
  assert.equal(await platform.files.exists(left), false);
  await mountAll(fixture, fixture.pods[0]!);
  assert.equal(await platform.files.readText(kept), 'data');
});

test('claims: not bound is refused at once, bound leads to the volume', async (t) => {
  const fixture = createVolumeFixture();
  t.after(() => fixture.stop());
  fixture.start();
  await fixture.platform.files.makeDir('/disks/1');
  const claim = (phase: string): never =>
    ({
      metadata: { namespace: 'default', name: 'data', uid: 'claim-1' },
      spec: { volumeName: 'pv-1' },
      status: { phase },
    }) as never;
  fixture.client.put(PersistentVolumeClaims, claim('Pending'));
  fixture.client.put(PersistentVolumes, {
    metadata: { name: 'pv-1' },
    spec: { local: { path: '/disks/1' }, claimRef: { uid: 'claim-1' } },
  } as never);
  const pod = podWith([{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]);
  await assert.rejects(fixture.manager.waitForAttachAndMount(pod, never), {
    message:
      'unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: error processing PVC default/data: PVC is not bound',
  });
  assert.deepEqual(fixture.events, []);
  fixture.client.put(PersistentVolumeClaims, claim('Bound'));
  await mountAll(fixture, { ...pod });
  assert.equal(fixture.manager.mountedVolumes('uid-1').get('data')!.hostPath, '/disks/1');
});

test('kinds without a plugin are refused by name', async (t) => {
  const fixture = createVolumeFixture();
  t.after(() => fixture.stop());
  fixture.start();
  for (const [kind, source] of Object.entries({
    cephfs: { monitors: ['m'] },
    quobyte: { registry: 'x', volume: 'x' },
  })) {
    const pod = podWith([{ name: 'odd', [kind]: source } as Volume], {
      metadata: { name: kind, namespace: 'default', uid: kind },
    });
    await assert.rejects(fixture.manager.waitForAttachAndMount(pod, never), (error: Error) =>
      error.message.includes(`no volume plugin matched: volumes of type ${kind} are no longer supported`),
    );
  }
});

test('the use of volumes with their own content is reported', async (t) => {
  const fixture = createVolumeFixture();
  t.after(() => fixture.stop());
  await mountAll(
    fixture,
    podWith([
      { name: 'scratch', emptyDir: {} },
      { name: 'host', hostPath: { path: '/' } },
    ]),
  );
  await fixture.platform.files.writeFile(`${VOLUMES}/kubernetes.io~empty-dir/scratch/big`, 'x'.repeat(10_000));
  const stats = await fixture.manager.volumeStats('uid-1');
  assert.deepEqual([...stats.keys()], ['scratch']);
  assert.equal(stats.get('scratch')!.inodesUsed, 2);
  assert.ok(stats.get('scratch')!.usedBytes >= 10_000);
});

test('image volumes are left to the runtime', async (t) => {
  const fixture = createVolumeFixture();
  t.after(() => fixture.stop());
  const pod = podWith([{ name: 'data', image: { reference: 'data:1' } }]);
  await fixture.manager.waitForAttachAndMount(pod, never);
  assert.equal(fixture.manager.mountedVolumes('uid-1').size, 0);
});
