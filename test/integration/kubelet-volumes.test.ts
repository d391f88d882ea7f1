/** Volumes, pod cgroups and statistics on this machine's kernel. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { lstat, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { ConfigMaps, Secrets } from '../../src/api/gen/resources.ts';
import type { Pod, Volume } from '../../src/api/gen/core-v1.ts';
import { createGrpcConnector } from '../../src/grpc/grpc-connector.ts';
import { createPodContainerManager } from '../../src/kubelet/cgroups/create-pod-container-manager.ts';
import { readNodeUsage } from '../../src/kubelet/stats/node-usage.ts';
import { createFakeClient, type FakeClient } from '../../src/kubelet/volumes/client-fixture.ts';
import { createObjectCache, type WatchingObjectCache } from '../../src/kubelet/volumes/object-cache.ts';
import { base64, podWith } from '../../src/kubelet/volumes/volume-fixture.ts';
import type { VolumeManager } from '../../src/kubelet/volumes/volume-manager-contract.ts';
import { createVolumeManager } from '../../src/kubelet/volumes/volume-manager.ts';
import { createNodePlatform, type NodePlatform } from '../../src/platform/node/node-platform.ts';

const skip = process.getuid?.() === 0 ? false : 'needs root';
/** Mounts a tmpfs with the options of the call. */
const FLEX_DRIVER = `#!/bin/sh
case $1 in
  init) echo '{"status":"Success","capabilities":{"attach":false}}' ;;
  mount) mount -t tmpfs ram "$2" && echo "$3" > "$2/options" && echo '{"status":"Success"}' ;;
  unmount) umount "$2" && echo '{"status":"Success"}' ;;
  *) echo '{"status":"Not supported"}'; exit 1 ;;
esac
`;
const never = new AbortController().signal;

describe('volumes on this machine', { skip }, () => {
  let platform: NodePlatform;
  let root: string;
  let client: FakeClient;
  let objects: WatchingObjectCache;
  let manager: VolumeManager;
  let controller: AbortController;
  let pods: Pod[] = [];
  const keepAlive = setInterval(() => undefined, 60_000);

  function startManager(): void {
    controller = new AbortController();
    manager = createVolumeManager(
      {
        platform,
        client,
        objects,
        recorder: { event: () => undefined },
        podsLister: () => pods,
        sourcesReady: () => true,
        requestToken: async (_namespace, _name, request) => ({
          ...request,
          status: { token: 'a.b.c', expirationTimestamp: '2099-01-01T00:00:00Z' },
        }),
        ownNode: () => undefined,
        nodeStatusChanged: () => undefined,
        plugins: { addHandler: () => undefined },
        connectGrpc: createGrpcConnector(platform.clock),
        node: () => ({ nodeName: 'node-1', hostIps: ['127.0.0.1'], allocatable: { cpu: '2', memory: '1Gi' } }),
      },
      {
        kubeletRoot: root,
        nodeName: 'node-1',
        attachesItself: false,
        settings: { pluginDir: join(root, 'flex'), gitRepo: true },
      },
    );
    manager.start(controller.signal);
  }

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'keelson volumes '));
    platform = createNodePlatform({ log: { level: 'error' }, cgroupRoot: `/keelson-test-volumes-${process.pid}` });
    client = createFakeClient();
    objects = createObjectCache({ client, platform });
    client.put(ConfigMaps, {
      metadata: { namespace: 'default', name: 'settings' },
      data: { 'app.conf': 'a=1' },
    } as never);
    client.put(Secrets, { metadata: { namespace: 'default', name: 'keys' }, data: { key: base64('hush') } } as never);
    startManager();
  });
  after(async () => {
    controller.abort();
    objects.stop();
    for (const { path } of (await platform.mounter.list()).toReversed())
      if (path.startsWith(`${root}/`)) await platform.mounter.unmount(path);
    await platform.cgroups.destroy('/');
    platform.close();
    clearInterval(keepAlive);
    await rm(root, { recursive: true, force: true });
  });

  const volumes: Volume[] = [
    { name: 'config', configMap: { name: 'settings', defaultMode: 0o600 } },
    { name: 'secret', secret: { secretName: 'keys' } },
    {
      name: 'api',
      projected: {
        sources: [
          { serviceAccountToken: { path: 'token' } },
          { downwardAPI: { items: [{ path: 'ns', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
        ],
      },
    },
    { name: 'mem', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
    { name: 'scratch', emptyDir: {} },
  ];
  const pathOf = (name: string): string => manager.mountedVolumes('uid-1').get(name)!.hostPath;
  const mountsBelow = async (): Promise<string[]> =>
    (await platform.mounter.list()).map(({ path }) => path).filter((path) => path.startsWith(`${root}/`));

  it('mounts one tmpfs for all secrets, applies changes, measures use, and unmounts everything', async () => {
    const pod = podWith(volumes, { spec: { containers: [], securityContext: { fsGroup: 2000, runAsUser: 1000 } } });
    pods = [pod];
    await manager.waitForAttachAndMount(pod, never);
    assert.equal((await mountsBelow()).length, 2);
    assert.equal(await readFile(`${pathOf('config')}/app.conf`, 'utf8'), 'a=1');
    assert.equal(await readFile(`${root}/pods/uid-1/volumes/kubernetes.io~secret/secret/key`, 'utf8'), 'hush');
    const token = await stat(`${pathOf('api')}/token`);
    assert.deepEqual([token.mode & 0o777, token.uid, token.gid], [0o640, 1000, 2000]);
    const scratch = await lstat(pathOf('scratch'));
    assert.deepEqual([scratch.mode & 0o7777, scratch.gid], [0o2777, 2000]);
    await assert.rejects(writeFile(`${pathOf('mem')}/big`, Buffer.alloc(2 * 2 ** 20)), { code: 'ENOSPC' });
    await writeFile(`${pathOf('scratch')}/big`, Buffer.alloc(100_000));
    const use = (await manager.volumeStats('uid-1')).get('scratch')!;
    assert.ok(
      use.usedBytes >= 100_000 && use.inodesUsed === 2 && use.capacityBytes > use.usedBytes,
      JSON.stringify(use),
    );
    // A change reaches the volume by the watch, without a resync.
    client.put(ConfigMaps, {
      metadata: { namespace: 'default', name: 'settings' },
      data: { 'app.conf': 'a=2' },
    } as never);
    // The old content is removed last.
    while (
      (await readFile(`${pathOf('config')}/app.conf`, 'utf8')) !== 'a=2' ||
      (await readdir(pathOf('config'))).length !== 3
    )
      await platform.clock.yield();
    await manager.waitForUnmount(pod, never);
    assert.deepEqual(await readdir(`${root}/pods/uid-1/volumes`), []);
    assert.deepEqual(await mountsBelow(), [`${root}/memory-volumes`]);
    assert.deepEqual(await readdir(`${root}/memory-volumes`), []);
  });

  it('a new process finds existing volumes, and does not remove files through a mount inside a volume', async () => {
    const pod = podWith(volumes);
    pods = [pod];
    await manager.waitForAttachAndMount(pod, never);
    const precious = await mkdtemp(join(tmpdir(), 'keelson precious '));
    await writeFile(`${precious}/file`, 'keep');
    const inner = `${pathOf('scratch')}/inner`;
    await platform.files.makeDir(inner);
    await platform.mounter.mount({ source: precious, target: inner, options: ['bind'] });
    controller.abort();
    startManager();
    await manager.waitForUnmount(pod, never);
    assert.equal(manager.mountedVolumes('uid-1').size, 0);
    assert.deepEqual(await mountsBelow(), [`${root}/memory-volumes`]);
    assert.equal(await readFile(`${precious}/file`, 'utf8'), 'keep');
    assert.deepEqual(await readdir(`${root}/pods/uid-1/volumes`), []);
    await rm(precious, { recursive: true });
  });

  it('host path types on real files', async () => {
    const socket: Server = createServer();
    await new Promise<void>((resolve) => socket.listen(`${root}/sock`, resolve));
    await promisify(execFile)('mkfifo', [`${root}/fifo`]);
    const pod = podWith(
      [
        { name: 'sock', hostPath: { path: `${root}/sock`, type: 'Socket' } },
        { name: 'null', hostPath: { path: '/dev/null', type: 'CharDevice' } },
        { name: 'new', hostPath: { path: `${root}/made/dir`, type: 'DirectoryOrCreate' } },
        { name: 'file', hostPath: { path: `${root}/made/file`, type: 'FileOrCreate' } },
      ],
      { metadata: { name: 'host', namespace: 'default', uid: 'uid-2' } },
    );
    pods = [pod];
    await manager.waitForAttachAndMount(pod, never);
    assert.ok((await stat(`${root}/made/dir`)).isDirectory());
    await manager.waitForUnmount(pod, never);
    assert.ok((await stat(`${root}/made/file`)).isFile());
    socket.close();
  });

  it('pod cgroups are created, limited and removed', async () => {
    const pod = podWith([], {
      spec: { containers: [{ name: 'app', resources: { requests: { cpu: '250m' }, limits: { memory: '32Mi' } } }] },
    });
    const containers = createPodContainerManager(
      {
        cgroups: platform.cgroups,
        platform,
        nodeAllocatable: async () => ({ milliCpu: 2000, memoryBytes: 2 ** 30 }),
        activePods: () => [pod],
      },
      {
        cgroupRoot: '/',
        cgroupsPerQos: true,
        enforceNodeAllocatable: ['pods'],
        enforceCpuLimits: true,
        cpuQuotaPeriodUs: 100_000,
        hugePageSizesBytes: [],
      },
    );
    await containers.start(controller.signal);
    await containers.ensurePodCgroup(pod);
    assert.deepEqual(await containers.podUids(), ['uid-1']);
    const parent = containers.criParent(pod);
    assert.match(parent, /\/kubepods\/burstable\/poduid-1$/);
    const limit =
      platform.cgroups.version === 1
        ? `/sys/fs/cgroup/memory${parent}/memory.limit_in_bytes`
        : `/sys/fs/cgroup${parent}/memory.max`;
    assert.equal((await readFile(limit, 'utf8')).trim(), String(32 * 2 ** 20));
    assert.ok((await platform.cgroups.stats(containers.cgroupName(pod)!)).memoryUsageBytes >= 0);
    await containers.destroyPodCgroup('uid-1');
    assert.equal(await containers.podCgroupExists(pod), false);
  });

  it('git repositories are cloned and flexVolume drivers called', async () => {
    const repository = join(root, 'repository');
    const git = (...args: string[]): Promise<unknown> =>
      promisify(execFile)('git', ['-C', repository, '-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args]);
    await mkdir(repository);
    await git('init', '--quiet');
    await writeFile(join(repository, 'file'), 'first');
    await git('add', 'file');
    await git('commit', '--quiet', '--message', 'first');
    await git('tag', 'v1');
    await writeFile(join(repository, 'file'), 'second');
    await git('commit', '--quiet', '--all', '--message', 'second');
    await mkdir(join(root, 'flex/example.com~ram'), { recursive: true });
    await writeFile(join(root, 'flex/example.com~ram/ram'), FLEX_DRIVER, { mode: 0o755 });
    const pod = podWith(
      [
        { name: 'clone', gitRepo: { repository, revision: 'v1', directory: '.' } },
        { name: 'ram', flexVolume: { driver: 'example.com/ram', options: { note: 'hello' } } },
      ],
      { metadata: { name: 'flex', namespace: 'default', uid: 'uid-flex' } },
    );
    pods = [pod];
    await manager.waitForAttachAndMount(pod, never);
    const mounted = manager.mountedVolumes('uid-flex');
    assert.equal(await readFile(join(mounted.get('clone')!.hostPath, 'file'), 'utf8'), 'first');
    assert.match(await readFile(join(mounted.get('ram')!.hostPath, 'options'), 'utf8'), /"note":"hello"/);
    await manager.waitForUnmount(pod, never);
    assert.deepEqual(await readdir(join(root, 'pods/uid-flex/volumes')), []);
    assert.equal((await platform.mounter.list()).filter(({ path }) => path.includes('uid-flex')).length, 0);
  });

  it("the node's resource use is read", async () => {
    const usage = await readNodeUsage(platform);
    assert.ok(usage.cpuUsageNs! > 0 && usage.memory.workingSetBytes > 0 && usage.processes > 0 && usage.cpuCount > 0);
  });
});
