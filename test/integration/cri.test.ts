import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import {
  createContainerdSupervisor,
  type ContainerdSupervisorConfig,
} from '../../src/cri/containerd/containerd-supervisor.ts';
import { PAUSE_IMAGE_NAME } from '../../src/cri/pause-image.ts';
import { describeRuntime } from '../../src/cri/runtime-suite.ts';
import { createImageGc } from '../../src/kubelet/images/image-gc.ts';
import {
  removeTestCgroups,
  startContainerd,
  testCgroup,
  TEST_IMAGE_NAME,
  type ContainerdFixture,
} from './fixtures/containerd.ts';

/** Whether a process runs; a zombie does not. */
async function isAlive(platform: ContainerdFixture['platform'], pid: number): Promise<boolean> {
  const status = await platform.files.readText(`/proc/${pid}/status`).catch(() => 'State:\tX');
  return !/^State:\t[XZ]/m.test(status);
}

const shell = (script: string) => ({ image: { image: TEST_IMAGE_NAME }, command: ['/bin/sh', '-c', script] });

describeRuntime('a real containerd', async () => {
  const containerd = await startContainerd();
  return {
    cri: containerd.client,
    logDirectory: `${containerd.directory}/logs`,
    cgroupParent: testCgroup,
    running: shell('trap "exit 0" TERM; echo up; /bin/busybox sleep 1000 & wait'),
    stubborn: shell('trap "" TERM; echo up; while true; do /bin/busybox sleep 1; done'),
    failing: shell('echo hello; exit 3'),
    readText: (path) => containerd.platform.files.readText(path),
    drive: (work) => work,
    pause: () => setTimeout(50),
    async close() {
      await containerd.close();
      await removeTestCgroups();
    },
  };
});

describe('the supervisor of containerd', () => {
  let containerd: ContainerdFixture;
  before(async () => {
    containerd = await startContainerd();
    containerd.stopSupervising();
  });
  after(async () => {
    await containerd.close();
    await removeTestCgroups();
  });
  const recordFile = (): string => `${containerd.config.options.rootDir}/keelson-daemon.json`;
  /** The pid is 0 while the supervisor starts a daemon. */
  const record = async (): Promise<{ pid: number }> =>
    JSON.parse((await containerd.platform.files.readText(recordFile())) || '{"pid":0}') as { pid: number };

  it('keeps the sandbox image through image collection, and imports it again after somebody removed it', async () => {
    const { platform, client } = containerd;
    const { files, clock, log } = platform;
    const present = async (): Promise<boolean> =>
      (await client.images.imageStatus({ image: { image: PAUSE_IMAGE_NAME } })).image !== undefined;
    const { info } = await client.runtime.status({ verbose: true });
    assert.equal((JSON.parse(info['config']!) as { sandboxImage: string }).sandboxImage, PAUSE_IMAGE_NAME);
    const nodeRef = { kind: 'Node', name: 'n' };
    const recorder = { event: () => undefined };
    const { images, runtime } = client;
    await createImageGc({ runtime, images, files, clock, log, recorder, nodeRef }, {}).deleteUnusedImages();
    const { images: left } = await images.listImages({});
    assert.deepEqual(
      left.flatMap(({ repoTags }) => repoTags),
      [PAUSE_IMAGE_NAME],
    );
    await images.removeImage({ image: { image: PAUSE_IMAGE_NAME } });
    assert.equal(await present(), false);
    const config = {
      metadata: { name: 'p', uid: 'p', namespace: 'default', attempt: 0 },
      linux: { cgroupParent: testCgroup, securityContext: { namespaceOptions: { network: 'NODE' as const } } },
    };
    await assert.rejects(runtime.runPodSandbox({ config }), /failed to get sandbox image/);
    assert.equal(await present(), true);
    const { podSandboxId } = await runtime.runPodSandbox({ config });
    await runtime.stopPodSandbox({ podSandboxId });
    await runtime.removePodSandbox({ podSandboxId });
  });

  it('adopts a daemon of the same configuration and replaces one of another configuration', async () => {
    const { platform, config } = containerd;
    const { pid } = await record();
    const first = new AbortController();
    await createContainerdSupervisor({ platform }, config).start(first.signal);
    assert.equal((await record()).pid, pid);
    first.abort();
    const changed: ContainerdSupervisorConfig = {
      ...config,
      options: { ...config.options, sandboxImage: 'registry.example/pause:1' },
    };
    const second = new AbortController();
    await createContainerdSupervisor({ platform }, changed).start(second.signal);
    second.abort();
    assert.notEqual((await record()).pid, pid);
    assert.equal(platform.exec.kill(pid, 0), false);
  });

  it('ends a daemon whose start was killed before it was recorded, and no other program that opens the file', async () => {
    const { platform, config } = containerd;
    const { exec, files } = platform;
    const { pid } = await record();
    await files.writeFile(recordFile(), '');
    const reader = await exec.startDaemon('tail', ['-f', config.configFile], { logFile: '/dev/null' });
    const controller = new AbortController();
    await createContainerdSupervisor({ platform }, config).start(controller.signal);
    controller.abort();
    assert.notEqual((await record()).pid, pid);
    assert.equal(exec.kill(pid, 0), false);
    assert.equal(exec.kill(reader, 0), true);
    exec.killDaemon(reader);
  });

  it('restarts a daemon that died, with its pods still running', async () => {
    const { platform, client, config } = containerd;
    const supervisor = createContainerdSupervisor({ platform }, config);
    const controller = new AbortController();
    await supervisor.start(controller.signal);
    const sandbox = {
      metadata: { name: 'a', uid: 'a', namespace: 'default', attempt: 0 },
      linux: { cgroupParent: testCgroup, securityContext: { namespaceOptions: { network: 'NODE' as const } } },
    };
    const { podSandboxId } = await client.runtime.runPodSandbox({ config: sandbox });
    const { pid } = await record();
    platform.exec.kill(pid, 'SIGKILL');
    while ([0, pid].includes((await record()).pid)) await platform.clock.sleep(20);
    const latest = record();
    let status;
    while (status === undefined)
      status = await client.runtime
        .podSandboxStatus({ podSandboxId })
        .catch(() => platform.clock.sleep(20).then(() => undefined));
    assert.equal(status.status!.state, 'SANDBOX_READY');
    controller.abort();
    const { info } = await client.runtime.podSandboxStatus({ podSandboxId, verbose: true });
    const { pid: pause } = JSON.parse(info['info']!) as { pid: number };
    assert.equal(platform.exec.kill(pause, 0), true);
    // Also ends the shims when the daemon does not answer.
    platform.exec.kill((await latest).pid, 'SIGKILL');
    await supervisor.stop();
    while (await isAlive(platform, pause)) await platform.clock.sleep(10);
    await assert.rejects(record(), { code: 'ENOENT' });
  });
});
