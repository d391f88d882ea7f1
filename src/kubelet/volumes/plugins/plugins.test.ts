/** Every kind of volume through the shared suite, and the rules of each. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HostPathVolumeSource, Pod, Volume } from '../../../api/gen/core-v1.ts';
import {
  CSIDrivers,
  ClusterTrustBundles,
  ConfigMaps,
  Endpoints as EndpointsResource,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  Secrets,
} from '../../../api/gen/resources.ts';
import { fakeDriverPlugin, serveFakeDriver } from '../csi/csi-driver-fixture.ts';
import { base64, createVolumeFixture, podWith, FIXTURE_ROOT } from '../volume-fixture.ts';
import { volumePlugins } from './list.ts';
import { testPlugin, type PluginCase } from './plugin-suite.ts';

const key = { namespace: 'default', name: 'thing' };
const signal = new AbortController().signal;

const ISCSI_DEVICE = '/dev/disk/by-path/ip-10.0.0.9:3260-iscsi-iqn.2001-04.com.example:disk-lun-1';

const FC_DEVICE = '/dev/disk/by-path/pci-0000:41:00.0-fc-0x500a0982991b8dc5-lun-2';

const cases: Readonly<Record<string, PluginCase>> = {
  'kubernetes.io/configmap': {
    source: {
      configMap: {
        name: 'thing',
        items: [
          { key: 'a', path: 'deep/er/a' },
          { key: 'bin', path: 'bin' },
        ],
      },
    },
    prepare: ({ client }) =>
      client.put(ConfigMaps, {
        metadata: key,
        data: { a: 'A', unused: 'x' },
        binaryData: { bin: base64('B') },
      } as never),
    readOnly: true,
    content: { '<volume>/deep/er/a': 'A', '<volume>/bin': 'B' },
  },
  'kubernetes.io/secret': {
    source: { secret: { secretName: 'thing' } },
    prepare: ({ client }) => client.put(Secrets, { metadata: key, data: { password: base64('P') } } as never),
    readOnly: true,
    content: { '<volume>/password': 'P' },
  },
  'kubernetes.io/downward-api': {
    source: { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
    readOnly: true,
    content: { '<volume>/name': 'web' },
  },
  'kubernetes.io/projected': {
    source: {
      projected: { sources: [{ configMap: { name: 'thing' } }, { secret: { name: 'none', optional: true } }] },
    },
    prepare: ({ client }) => client.put(ConfigMaps, { metadata: key, data: { 'ca.crt': 'CA' } } as never),
    readOnly: true,
    content: { '<volume>/ca.crt': 'CA' },
  },
  'kubernetes.io/empty-dir': { source: { emptyDir: {} }, readOnly: false, content: { '<volume>': '' } },
  'kubernetes.io/host-path': {
    source: { hostPath: { path: '/data', type: 'Directory' } },
    prepare: async ({ platform }) => {
      await platform.files.makeDir('/data');
      await platform.files.writeFile('/data/file', 'kept');
    },
    readOnly: false,
    content: { '/data/file': 'kept' },
  },
  'kubernetes.io/csi': {
    source: { csi: { driver: fakeDriverPlugin.name } },
    prepare: async ({ platform, sockets, client, csiHandler }) => {
      client.put(CSIDrivers, {
        metadata: { name: fakeDriverPlugin.name },
        spec: { volumeLifecycleModes: ['Ephemeral'] },
      });
      client.put(Nodes, { metadata: { name: 'node-1' } });
      serveFakeDriver(platform, sockets);
      await csiHandler.registerPlugin(fakeDriverPlugin, new AbortController().signal);
    },
    readOnly: false,
    mounts: [{ source: 'disk', type: 'ext4', options: [] }],
  },
  'kubernetes.io/git-repo': {
    source: { gitRepo: { repository: 'https://example.com/r.git', revision: 'v1' } },
    options: { gitRepo: true },
    prepare: ({ platform }) =>
      platform.exec.program('git', async ({ args, options }) => {
        if (args[0] !== 'clone') return {};
        await platform.files.makeDir(`${options.cwd}/r`);
        await platform.files.writeFile(`${options.cwd}/r/README`, 'hello');
        return {};
      }),
    readOnly: false,
    content: { '<volume>/r/README': 'hello' },
  },
  'kubernetes.io/iscsi': {
    source: { iscsi: { targetPortal: '10.0.0.9', iqn: 'iqn.2001-04.com.example:disk', lun: 1 } },
    prepare: async ({ platform }) => {
      platform.exec.program('iscsiadm', () => ({}));
      platform.exec.program('blkid', () => ({ exitCode: 2 }));
      platform.exec.program('mkfs.ext4', () => ({}));
      if (await platform.files.exists(ISCSI_DEVICE)) return;
      await platform.files.makeDir('/dev/disk/by-path');
      platform.files.makeSpecial(ISCSI_DEVICE, 'block');
    },
    readOnly: false,
    mounts: [
      { source: ISCSI_DEVICE, type: 'ext4', options: ['defaults'] },
      {
        source: `${FIXTURE_ROOT}/plugins/kubernetes.io/iscsi/mounts/10.0.0.9%3A3260-iqn.2001-04.com.example%3Adisk-lun-1`,
        type: 'none',
        options: ['bind'],
      },
    ],
  },
  'kubernetes.io/fc': {
    source: { fc: { targetWWNs: ['500a0982991b8dc5'], lun: 2 } },
    prepare: async ({ platform: { exec, files } }) => {
      for (const program of ['blkid', 'mkfs.ext4', 'blockdev'])
        exec.program(program, () => (program === 'blkid' ? { exitCode: 2 } : {}));
      if (await files.exists(FC_DEVICE)) return;
      await files.makeDir('/dev/disk/by-path');
      await files.makeDir('/sys/block/sdc/device');
      await files.writeFile('/sys/block/sdc/device/delete', '');
      files.makeSpecial('/dev/sdc', 'block');
      await files.symlink('../../sdc', FC_DEVICE);
    },
    readOnly: false,
    mounts: [
      { source: FC_DEVICE, type: 'ext4', options: ['defaults'] },
      {
        source: `${FIXTURE_ROOT}/plugins/kubernetes.io/fc/mounts/500a0982991b8dc5-lun-2`,
        type: 'none',
        options: ['bind'],
      },
    ],
  },
  'kubernetes.io/rbd': {
    source: { rbd: { monitors: ['m1', 'm2'], image: 'disk', readOnly: true, fsType: 'xfs' } },
    prepare: ({ platform }) => {
      let mapped: object[] = [];
      platform.exec.program('rbd', ({ args }) => {
        if (args[0] === 'map') mapped = [{ pool: 'rbd', name: 'disk', device: '/dev/rbd0' }];
        if (args[0] === 'unmap') mapped = [];
        return { stdout: args[0] === 'map' ? '/dev/rbd0' : JSON.stringify(mapped) };
      });
      platform.exec.program('blkid', () => ({ stdout: 'TYPE=xfs' }));
    },
    readOnly: true,
    mounts: [
      { source: '/dev/rbd0', type: 'xfs', options: ['defaults', 'ro'] },
      {
        source: `${FIXTURE_ROOT}/plugins/kubernetes.io/rbd/mounts/rbd-image-disk`,
        type: 'none',
        options: ['bind', 'ro'],
      },
    ],
  },
  'kubernetes.io/glusterfs': {
    source: { glusterfs: { endpoints: 'cluster', path: 'vol' } },
    prepare: ({ client }) =>
      client.put(EndpointsResource, {
        metadata: { name: 'cluster', namespace: 'default' },
        subsets: [{ addresses: [{ ip: '10.0.0.2' }, { ip: '10.0.0.1' }] }],
      }),
    readOnly: false,
    mounts: [{ source: '10.0.0.1:vol', type: 'glusterfs', options: ['backup-volfile-servers=10.0.0.1:10.0.0.2'] }],
  },
  'kubernetes.io/flexvolume': {
    source: { flexVolume: { driver: 'example.com/disk', readOnly: true } },
    prepare: async ({ platform }) => {
      await platform.files.makeDir('/flex/example.com~disk');
      await platform.files.writeFile('/flex/example.com~disk/disk', 'program');
      platform.exec.program('disk', async ({ args: [command, target] }) => {
        if (command === 'init') return { stdout: '{"status":"Success","capabilities":{"attach":false}}' };
        if (command === 'mount') await platform.mounter.mount({ source: 'flex', target: target!, type: 'ext4' });
        if (command === 'unmount') await platform.mounter.unmount(target!);
        return { stdout: '{"status":"Success"}' };
      });
    },
    readOnly: true,
    mounts: [{ source: 'flex', type: 'ext4', options: [] }],
  },
  'kubernetes.io/nfs': {
    source: { nfs: { server: 'fd00::1', path: '/export', readOnly: true } },
    readOnly: true,
    mounts: [{ source: '[fd00::1]:/export', type: 'nfs', options: ['ro'] }],
  },
};

for (const plugin of volumePlugins) {
  const of = cases[plugin.name];
  if (of !== undefined) testPlugin(plugin.name, of);
  // Only persistent volumes have this source; it is tested through a claim.
  else assert.equal(plugin.name, 'kubernetes.io/local-volume');
}

testPlugin('empty-dir in memory', {
  source: { emptyDir: { medium: 'Memory' } },
  readOnly: false,
  mounts: [{ source: 'tmpfs', type: 'tmpfs', options: [`size=${8 * 2 ** 30}`] }],
});

test('the size of memory volumes is the least of node, pod and volume', async (t) => {
  const limited = (limit: string | undefined): NonNullable<Pod['spec']> => ({
    containers: [
      {
        name: 'app',
        volumeMounts: [{ name: 'mem', mountPath: '/m' }],
        ...(limit === undefined ? {} : { resources: { limits: { memory: limit } } }),
      },
    ],
  });
  for (const [sizeLimit, podLimit, expected] of [
    ['1Mi', undefined, 2 ** 20],
    [undefined, '4Mi', 2 ** 22],
    ['8Mi', '4Mi', 2 ** 22],
    ['1Mi', '4Mi', 2 ** 20],
    [undefined, undefined, 8 * 2 ** 30],
  ] as const) {
    const fixture = createVolumeFixture();
    t.after(() => fixture.stop());
    const volume: Volume = {
      name: 'mem',
      emptyDir: { medium: 'Memory', ...(sizeLimit === undefined ? {} : { sizeLimit }) },
    };
    await fixture.manager.waitForAttachAndMount(podWith([volume], { spec: limited(podLimit) }), signal);
    assert.deepEqual(fixture.platform.mounter.mounts[0]!.options, [`size=${expected}`]);
  }
});

test('a huge-page volume is mounted with the page size of the limits', async (t) => {
  const fixture = createVolumeFixture();
  t.after(() => fixture.stop());
  const containers = [
    {
      name: 'app',
      volumeMounts: [{ name: 'huge', mountPath: '/m' }],
      resources: { limits: { 'hugepages-2Mi': '4Mi' } },
    },
  ];
  await fixture.manager.waitForAttachAndMount(
    podWith([{ name: 'huge', emptyDir: { medium: 'HugePages' } }], { spec: { containers } }),
    signal,
  );
  const { type, options } = fixture.platform.mounter.mounts[0]!;
  assert.deepEqual({ type, options }, { type: 'hugetlbfs', options: ['pagesize=2M'] });
});

/** The FailedMount event a volume leads to. */
async function failureOf(volume: Volume, prepare?: PluginCase['prepare']): Promise<string | undefined> {
  const fixture = createVolumeFixture();
  await prepare?.(fixture);
  const controller = new AbortController();
  const wait = fixture.manager.waitForAttachAndMount(podWith([volume]), controller.signal).catch(() => undefined);
  await fixture.platform.clock.settle();
  controller.abort(new Error('seen enough'));
  await wait;
  fixture.stop();
  return fixture.events[0]?.replace(/^Warning FailedMount MountVolume.SetUp failed for volume "vol" : /, '');
}

test("host path types, in upstream's words", async () => {
  const cases: readonly (readonly [HostPathVolumeSource, string | undefined])[] = [
    [{ path: '/nowhere' }, undefined],
    [{ path: '/nowhere', type: 'Directory' }, 'hostPath type check failed: /nowhere is not a directory'],
    [{ path: '/f', type: 'Directory' }, 'hostPath type check failed: /f is not a directory'],
    [{ path: '/f', type: 'DirectoryOrCreate' }, 'hostPath type check failed: /f is not a directory'],
    [{ path: '/new', type: 'DirectoryOrCreate' }, undefined],
    [{ path: '/nowhere', type: 'File' }, 'hostPath type check failed: /nowhere is not a file'],
    [{ path: '/f', type: 'File' }, undefined],
    [{ path: '/new', type: 'FileOrCreate' }, undefined],
    [{ path: '/f', type: 'Socket' }, 'hostPath type check failed: /f is not a socket file'],
    [{ path: '/f', type: 'CharDevice' }, 'hostPath type check failed: /f is not a character device'],
    [{ path: '/f', type: 'BlockDevice' }, 'hostPath type check failed: /f is not a block device'],
    [{ path: '/a/../b' }, 'path "/a/../b" contains ".."'],
  ];
  for (const [hostPath, expected] of cases) {
    assert.equal(
      await failureOf({ name: 'vol', hostPath }, ({ platform }) => platform.files.writeFile('/f', '')),
      expected,
      JSON.stringify(hostPath),
    );
  }
});

test('a path on a hung file system is inspected by a program with a deadline', async () => {
  const failure = await failureOf(
    { name: 'vol', hostPath: { path: '/net/x', type: 'Directory' } },
    async ({ platform }) => {
      await platform.mounter.mount({ source: 'server:/', target: '/net', type: 'nfs4' });
      platform.exec.program('stat', () => ({ timedOut: true, exitCode: 137 }));
    },
  );
  assert.equal(failure, '/net/x did not answer in 5 s: the nfs4 file system at /net hangs');
});

test('keys that are not there', async () => {
  const items = [{ key: 'no', path: 'no' }];
  const put: PluginCase['prepare'] = ({ client }) => {
    client.put(ConfigMaps, { metadata: key } as never);
    client.put(Secrets, { metadata: key } as never);
  };
  assert.equal(
    await failureOf({ name: 'vol', configMap: { name: 'thing', items } }, put),
    'configmap references non-existent config key: no',
  );
  assert.equal(
    await failureOf({ name: 'vol', secret: { secretName: 'thing', items } }, put),
    'references non-existent secret key: no',
  );
  assert.equal(await failureOf({ name: 'vol', secret: { secretName: 'other' } }, put), 'secret "other" not found');
  assert.equal(await failureOf({ name: 'vol', configMap: { name: 'thing', items, optional: true } }, put), undefined);
  assert.equal(
    await failureOf(
      { name: 'vol', configMap: { name: 'thing', items: [{ key: 'no', path: '../up' }], optional: false } },
      ({ client }) => client.put(ConfigMaps, { metadata: key, data: { no: 'x' } } as never),
    ),
    "invalid path: must not contain '..': ../up",
  );
});

for (const provisioner of ['keelson.dev/local-path', undefined]) {
  test(`a local volume without its directory, provisioned by ${provisioner ?? 'hand'}`, async (t) => {
    const path = '/data/local-path/pvc-1_default_data';
    const put: PluginCase['prepare'] = ({ client }) => {
      const annotations = provisioner === undefined ? {} : { 'pv.kubernetes.io/provisioned-by': provisioner };
      client.put(PersistentVolumes, {
        metadata: { name: 'pvc-1', annotations },
        spec: { local: { path }, claimRef: { uid: 'claim-1' } },
      } as never);
      client.put(PersistentVolumeClaims, {
        metadata: { namespace: 'default', name: 'data', uid: 'claim-1' },
        spec: { volumeName: 'pvc-1' },
        status: { phase: 'Bound' },
      } as never);
    };
    const volume = { name: 'vol', persistentVolumeClaim: { claimName: 'data' } };
    if (provisioner === undefined)
      return assert.match(
        (await failureOf(volume, put)) ?? '',
        /: path "\/data\/local-path\/pvc-1_default_data" does not exist$/,
      );
    const fixture = createVolumeFixture();
    t.after(() => fixture.stop());
    await put(fixture);
    const pod = podWith([volume]);
    fixture.pods = [pod];
    fixture.start();
    await fixture.manager.waitForAttachAndMount(pod, signal);
    const { kind, mode } = await fixture.platform.files.stat(path);
    assert.deepEqual([kind, mode & 0o777], ['directory', 0o777]);
    assert.equal((await fixture.platform.files.stat('/data/local-path')).mode & 0o777, 0o700);
    assert.equal(fixture.manager.mountedVolumes('uid-1').get('vol')!.hostPath, path);
  });
}

test('projected: certificates of trust bundles by name and by signer, each once', async (t) => {
  const fixture = createVolumeFixture();
  t.after(() => fixture.stop());
  const pem = (text: string): string => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----`;
  const bundle = (name: string, signerName: string, trustBundle: string): void =>
    fixture.client.put(ClusterTrustBundles, {
      metadata: { name, labels: { use: 'tls' } },
      spec: { signerName, trustBundle },
    });
  bundle('one', 'example.com/s', `a comment\n${pem('B')}\n${pem('A')}`);
  bundle('two', 'example.com/s', pem('A'));
  bundle('other', 'example.com/t', pem('C'));
  const sources = [
    { clusterTrustBundle: { name: 'other', path: 'named.pem' } },
    {
      clusterTrustBundle: {
        signerName: 'example.com/s',
        labelSelector: { matchLabels: { use: 'tls' } },
        path: 'signed.pem',
      },
    },
    { clusterTrustBundle: { name: 'none', optional: true, path: 'none.pem' } },
  ];
  const pod = podWith([{ name: 'vol', projected: { sources } }]);
  await fixture.manager.waitForAttachAndMount(pod, new AbortController().signal);
  const { hostPath } = fixture.manager.mountedVolumes('uid-1').get('vol')!;
  const read = (name: string): Promise<string> => fixture.platform.files.readText(`${hostPath}/${name}`);
  assert.equal(await read('named.pem'), `${pem('C')}\n`);
  assert.equal(await read('signed.pem'), `${pem('A')}\n${pem('B')}\n`);
  assert.equal(await read('none.pem'), '');
});
