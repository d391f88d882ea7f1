/**
 * Every row of the security table on a real containerd: the process in the container has exactly the rights that upstream grants.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { noSteps } from '../../src/component-helpers/pod-trace/step-scope.ts';
import type { Pod } from '../../src/api/gen/core-v1.ts';
import { importImage } from '../../src/cri/containerd/image-import.ts';
import { buildOciImage } from '../../src/cri/oci-image.ts';
import type { ContainerRuntime, PodSyncResult } from '../../src/kubelet/container/runtime.ts';
import { createContainerRuntime } from '../../src/kubelet/runtime/container-runtime.ts';
import { createWorld, fixtureConfig, fixtureDeps, podOf } from '../../src/kubelet/runtime/runtime-fixture.ts';
import {
  imageUsers,
  plainFacts,
  securityRows,
  type ProcessFacts,
  type SecurityRow,
} from '../../src/kubelet/runtime/security-rows-fixture.ts';
import { removeTestCgroups, startContainerd, testCgroup, type ContainerdFixture } from './fixtures/containerd.ts';

const question = [
  'cat /proc/self/status',
  'if grep -q "^overlay / overlay rw," /proc/mounts; then echo "Root: rw"; fi',
  'if [ -c /proc/keys ] && grep -q "^proc /proc/sys proc ro" /proc/mounts; then echo "Paths: masked"; fi',
  'echo "Shm: $(cat /proc/sys/kernel/shm_rmid_forced)"',
].join('; ');

const hostCapabilities = /CapBnd:\s*(\w+)/.exec(readFileSync('/proc/self/status', 'utf8'))![1]!;
/** The default capabilities of containerd. */
const DEFAULT_CAPABILITIES = '00000000a80425fb';

function factsOf(text: string): ProcessFacts {
  const lines = new Map(text.split('\n').map((line) => line.split(/:\s*/, 2) as [string, string]));
  const numbers = (name: string): number[] => (lines.get(name) ?? '').trim().split(/\s+/).filter(Boolean).map(Number);
  const bounding = lines.get('CapBnd')!;
  const names: Readonly<Record<string, string>> = {
    '0000000000000000': 'none',
    [DEFAULT_CAPABILITIES]: 'default',
    [hostCapabilities]: 'all',
  };
  const gid = numbers('Gid')[0]!;
  return {
    uid: numbers('Uid')[0]!,
    gid,
    groups: numbers('Groups').filter((group) => group !== gid),
    capabilities: names[bounding] ?? bounding,
    noNewPrivileges: lines.get('NoNewPrivs') === '1',
    seccomp: lines.get('Seccomp') === '2',
    rootWritable: lines.get('Root') === 'rw',
    masked: lines.get('Paths') === 'masked',
    shmRmidForced: lines.get('Shm')!,
  };
}

describe('security contexts on a real containerd', () => {
  let containerd: ContainerdFixture;
  let runtime: ContainerRuntime;
  let uid = 0;
  before(async () => {
    containerd = await startContainerd();
    const { platform, client, config: daemon } = containerd;
    const content = readFileSync('/bin/busybox');
    const text = (path: string, line: string) => ({ path, mode: 0o644, content: Buffer.from(`${line}\n`) });
    const files = [
      ...['bin/busybox', 'bin/sh'].map((path) => ({ path, mode: 0o755, content })),
      text('etc/passwd', 'root:x:0:0::/:/bin/sh\nbob:x:1001:1002::/:/bin/sh'),
      text('etc/group', 'root:x:0:\nstaff:x:1002:'),
    ];
    const { architecture } = await platform.host.info();
    for (const [name, user] of Object.entries(imageUsers)) {
      const spec = { architecture, files, env: ['PATH=/bin'], ...(user !== undefined && { user }) };
      const image = buildOciImage(spec, (data) => platform.crypto.sha256Hex(data));
      const target = { socketPath: daemon.options.socketPath, clock: platform.clock, images: client.images };
      await importImage(target, { name: `keelson.test/${name.toLowerCase()}:1`, image });
    }
    const config = fixtureConfig(containerd.directory);
    const deps = fixtureDeps(client, platform, createWorld());
    const podContainers = { criParent: (pod: Pod) => `${testCgroup}/${pod.metadata.uid}` } as typeof deps.podContainers;
    const resources = { ...config.resources, cgroupVersion: platform.cgroups.version };
    runtime = createContainerRuntime({ ...deps, podContainers }, { ...config, resources });
  });
  after(async () => {
    await containerd.close();
    await removeTestCgroups();
  });

  const podFor = ({ image, pod, container }: SecurityRow): Pod => {
    const name = `pod-${++uid}`;
    const main = {
      name: 'main',
      image: `keelson.test/${image.toLowerCase()}:1`,
      imagePullPolicy: 'IfNotPresent',
      command: ['/bin/sh', '-c', 'trap "exit 0" TERM; while true; do /bin/busybox sleep 1000 & wait; done'],
      ...(container && { securityContext: container }),
    };
    return podOf({ hostNetwork: true, containers: [main], ...(pod && { securityContext: pod }) }, { name, uid: name });
  };
  const sync = async (pod: Pod): Promise<PodSyncResult> => {
    const podStatus = await runtime.getPodStatus(pod.metadata.uid!, pod.metadata.name!, 'default');
    return runtime.syncPod({ pod, podStatus, pullSecrets: [], trace: noSteps, signal: new AbortController().signal });
  };
  const remove = async (pod: Pod): Promise<void> => {
    const runtimePod = (await runtime.getPods(true)).find((each) => each.uid === pod.metadata.uid);
    if (runtimePod !== undefined) await runtime.killPod({ pod, runtimePod, gracePeriodSeconds: 0 });
  };

  for (const row of securityRows) {
    const { about, refused, sandboxRefused, facts } = row;
    const refusal = refused ?? sandboxRefused;
    // Rows without facts depend on files and modules of the machine; unit tests compare their CRI requests.
    if (refusal === undefined && facts === undefined) continue;
    it(`${about}: the process ${refusal === undefined ? 'has what upstream grants' : 'never starts'}`, async () => {
      const pod = podFor(row);
      const { error, steps } = await sync(pod);
      const status = await runtime.getPodStatus(pod.metadata.uid!, pod.metadata.name!, 'default');
      if (refusal === undefined) {
        assert.equal(error, undefined, JSON.stringify(steps));
        const answer = await runtime.execSync(status.containers[0]!.id, ['/bin/sh', '-c', question], 60_000);
        assert.deepEqual(factsOf(Buffer.from(answer.stdout).toString()), { ...plainFacts, ...facts });
      } else {
        assert.match(steps.at(-1)?.message ?? '', refusal);
        assert.deepEqual(status.containers, []);
      }
      await remove(pod);
    });
  }
});
