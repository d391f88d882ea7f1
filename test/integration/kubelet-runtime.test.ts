import assert from 'node:assert/strict';
import { readlinkSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { noSteps } from '../../src/component-helpers/pod-trace/step-scope.ts';
import type { Container, Pod } from '../../src/api/gen/core-v1.ts';
import { CriError } from '../../src/cri/cri-error.ts';
import type { ContainerRuntime, PodStatus, PodSyncResult } from '../../src/kubelet/container/runtime.ts';
import { createContainerRuntime } from '../../src/kubelet/runtime/container-runtime.ts';
import {
  createWorld,
  fixtureConfig,
  fixtureDeps,
  podOf,
  type FixtureWorld,
} from '../../src/kubelet/runtime/runtime-fixture.ts';
import {
  removeTestCgroups,
  startContainerd,
  testCgroup,
  TEST_IMAGE_NAME,
  type ContainerdFixture,
} from './fixtures/containerd.ts';
import { hasEnded, must } from './fixtures/programs.ts';
import { until } from './fixtures/until.ts';

const shell = (script: string): Pick<Container, 'image' | 'command' | 'imagePullPolicy'> => ({
  image: TEST_IMAGE_NAME,
  imagePullPolicy: 'IfNotPresent',
  command: ['/bin/sh', '-c', script],
});
const WAIT_FOR_TERM = 'trap "exit 0" TERM; while true; do /bin/busybox sleep 1000 & wait; done';

describe('the runtime manager on a real containerd', () => {
  let containerd: ContainerdFixture;
  let world: FixtureWorld;
  let runtime: ContainerRuntime;
  /** Starts tasks of containers without CRI, as a start that was interrupted leaves them. */
  let startsBehindCri: ContainerRuntime;
  let uid = 0;

  before(async () => {
    containerd = await startContainerd({ network: true });
    world = createWorld();
    const config = fixtureConfig(containerd.directory);
    const resources = { ...config.resources, cgroupVersion: containerd.platform.cgroups.version };
    const runtimeOn = (cri: typeof containerd.client): ContainerRuntime => {
      const deps = fixtureDeps(cri, containerd.platform, world);
      const podContainers = {
        criParent: (pod: Pod) => `${testCgroup}/${pod.metadata.uid}`,
      } as typeof deps.podContainers;
      return createContainerRuntime({ ...deps, podContainers }, { ...config, resources });
    };
    runtime = runtimeOn(containerd.client);
    const { client } = containerd;
    startsBehindCri = runtimeOn({ ...client, runtime: { ...client.runtime, startContainer: startTask } });
  });
  after(async () => {
    await containerd.close();
    // The pod container manager, which this test does not use, would remove the pods' parent cgroups.
    await removeTestCgroups();
  });

  const ctr = (...args: string[]): Promise<string> =>
    must('ctr', ['--address', containerd.config.options.socketPath, '--namespace', 'k8s.io', ...args]);
  async function startTask({ containerId }: { containerId?: string }): Promise<never> {
    await ctr('tasks', 'start', '--detach', '--null-io', containerId!);
    throw new CriError('Canceled', 'context canceled');
  }
  const pidOf = async (containerId: string): Promise<number> => {
    const line = (await ctr('tasks', 'list')).split('\n').find((each) => each.startsWith(containerId));
    assert.match(line ?? '', /RUNNING/);
    return Number(line!.split(/\s+/)[1]);
  };
  const newPod = (spec: Parameters<typeof podOf>[0]): Pod => podOf(spec, { name: `pod-${++uid}`, uid: `uid-${uid}` });
  const status = (pod: Pod): Promise<PodStatus> =>
    runtime.getPodStatus(pod.metadata.uid!, pod.metadata.name!, pod.metadata.namespace!);
  const sync = async (pod: Pod): Promise<PodSyncResult> =>
    runtime.syncPod({
      pod,
      podStatus: await status(pod),
      pullSecrets: [],
      trace: noSteps,
      signal: new AbortController().signal,
    });
  const remove = async (pod: Pod): Promise<void> => {
    const runtimePod = (await runtime.getPods(true)).find((candidate) => candidate.uid === pod.metadata.uid)!;
    const result = await runtime.killPod({ pod, runtimePod });
    assert.equal(result.error, undefined);
    world.deleted.add(pod.metadata.uid!);
    await runtime.garbageCollect(
      { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 },
      { allSourcesReady: true, evictNonDeleted: false },
    );
  };
  /** Runs an action and waits until the runtime reports that a container of the pod stopped. */
  const untilStopped = async (pod: Pod, action: () => Promise<unknown>): Promise<void> => {
    const controller = new AbortController();
    const events = runtime.events(controller.signal)[Symbol.asyncIterator]();
    let next = events.next();
    await action();
    for (;;) {
      const { value } = await next;
      if (value.podUid === pod.metadata.uid && value.type === 'stopped') break;
      next = events.next();
    }
    controller.abort();
  };
  const run = async (pod: Pod, command: string, container?: string): Promise<string> => {
    const { containers } = await status(pod);
    const { id } = containers.find(({ name, state }) => state === 'running' && name === (container ?? name))!;
    const { exitCode, stdout, stderr } = await runtime.execSync(id, ['/bin/sh', '-c', command], 60_000);
    assert.equal(exitCode, 0, Buffer.from(stderr).toString());
    return Buffer.from(stdout).toString().trim();
  };

  it('reports its status', async () => {
    const { runtimeReady, networkReady, runtimeName } = await runtime.status();
    assert.deepEqual(
      { runtimeReady, networkReady, runtimeName },
      { runtimeReady: true, networkReady: true, runtimeName: 'containerd' },
    );
  });

  it('runs a pod with address, names, environment, volumes and limits, and takes it down', async () => {
    world.configMaps.set('settings', { COLOR: 'blue' });
    const volume = `${containerd.directory}/volume`;
    await containerd.platform.files.makeDir(`${volume}/inner`);
    await containerd.platform.files.writeFile(`${volume}/inner/file`, 'from the volume');
    world.volumes.set('data', { name: 'data', hostPath: volume, readOnly: false, selinuxRelabel: false, block: false });
    const pod = newPod({
      hostname: 'box',
      subdomain: 'sub',
      containers: [
        {
          name: 'main',
          ...shell(WAIT_FOR_TERM),
          envFrom: [{ configMapRef: { name: 'settings' } }],
          env: [
            { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
            { name: 'BOTH', value: '$(IP)-$(COLOR)' },
          ],
          resources: { limits: { memory: '64Mi', cpu: '500m' }, requests: { memory: '32Mi', cpu: '250m' } },
          securityContext: { runAsUser: 1234, runAsGroup: 5678, readOnlyRootFilesystem: true },
          volumeMounts: [
            { name: 'data', mountPath: '/data', readOnly: true },
            { name: 'data', mountPath: '/sub', subPath: 'inner' },
          ],
          terminationMessagePath: '/dev/termination-log',
        },
      ],
    });
    const result = await sync(pod);
    assert.equal(result.error, undefined);
    const now = await status(pod);
    assert.match(now.ips[0]!, /^10\.231\.\d+\./);
    assert.equal(await run(pod, 'hostname'), 'box');
    assert.equal(await run(pod, 'echo $BOTH'), `${now.ips[0]}-blue`);
    assert.match(
      await run(pod, 'cat /etc/hosts'),
      new RegExp(`${now.ips[0]}\tbox\\.sub\\.default\\.svc\\.cluster\\.local\tbox`),
    );
    assert.match(
      await run(pod, 'cat /etc/resolv.conf'),
      /search default\.svc\.cluster\.local svc\.cluster\.local cluster\.local[\s\S]*nameserver 10\.96\.0\.10[\s\S]*ndots:5/,
    );
    assert.equal(await run(pod, 'id -u; id -g'), '1234\n5678');
    assert.equal(await run(pod, 'cat /data/inner/file /sub/file'), 'from the volumefrom the volume');
    assert.equal(
      await run(pod, '(echo x > /x) 2>/dev/null || (echo x > /data/x) 2>/dev/null || echo refused'),
      'refused',
    );
    assert.ok(
      await containerd.platform.mounter.isMountPoint(
        `${containerd.directory}/kubelet/pods/${pod.metadata.uid}/volume-subpaths/data/main/1`,
      ),
    );
    await remove(pod);
    assert.equal((await runtime.getPods(true)).length, 0);
    assert.equal(
      await containerd.platform.files.exists(
        `${containerd.directory}/kubelet/pods/${pod.metadata.uid}/volume-subpaths`,
      ),
      false,
    );
  });

  it('creates a missing sub-path with mode and group of the volume, also through a link to it, and its user can write there', async () => {
    const volume = `${containerd.directory}/shared`;
    await containerd.platform.files.makeDir(volume, { mode: 0o2770 });
    await containerd.platform.files.chown(volume, 0, 3000);
    await containerd.platform.files.chmod(volume, 0o2770);
    await containerd.platform.files.symlink(volume, `${volume}-link`);
    for (const [name, hostPath] of [
      ['direct', volume],
      ['link', `${volume}-link`],
    ] as const)
      world.volumes.set(name, { name, hostPath, readOnly: false, selinuxRelabel: false, block: false });
    const pod = newPod({
      securityContext: { runAsUser: 1000, fsGroup: 3000 },
      containers: [
        {
          name: 'main',
          ...shell(WAIT_FOR_TERM),
          volumeMounts: [
            { name: 'direct', mountPath: '/one', subPath: 'new/one' },
            { name: 'link', mountPath: '/two', subPath: 'new/two' },
          ],
        },
      ],
    });
    const { error, steps } = await sync(pod);
    assert.equal(error, undefined, JSON.stringify(steps));
    assert.equal(
      await run(pod, 'touch /one/x /two/y; /bin/busybox stat -c "%u %g %a" /one /two /one/x'),
      '0 3000 2770\n0 3000 2770\n1000 3000 644',
    );
    const { mode, gid } = await containerd.platform.files.stat(`${volume}/new`);
    assert.deepEqual([mode, gid], [0o2770, 3000]);
    await remove(pod);
  });

  it('refuses a sub-path outside the volume', async () => {
    const volume = `${containerd.directory}/evil`;
    await containerd.platform.files.makeDir(volume);
    await containerd.platform.files.symlink('/etc', `${volume}/link`);
    world.volumes.set('evil', { name: 'evil', hostPath: volume, readOnly: false, selinuxRelabel: false, block: false });
    const pod = newPod({
      containers: [
        {
          name: 'main',
          ...shell(WAIT_FOR_TERM),
          volumeMounts: [{ name: 'evil', mountPath: '/data', subPath: 'link' }],
        },
      ],
    });
    const result = await sync(pod);
    assert.equal(result.steps.at(-1)!.reason, 'CreateContainerConfigError');
    await remove(pod);
  });

  it('reports exit code, termination message and restart count of a crash, by event', async () => {
    const pod = newPod({
      containers: [
        {
          name: 'main',
          ...shell('echo sorry > /dev/termination-log; exit 7'),
          terminationMessagePath: '/dev/termination-log',
        },
      ],
    });
    await untilStopped(pod, () => sync(pod));
    const [first] = (await status(pod)).containers;
    assert.deepEqual(
      [first!.state, first!.exitCode, first!.message, first!.reason, first!.restartCount],
      ['exited', 7, 'sorry\n', 'Error', 0],
    );
    assert.ok(first!.finishedAtMs >= first!.startedAtMs && first!.startedAtMs > 1e12);
    await untilStopped(pod, () => sync(pod));
    assert.equal((await status(pod)).containers[0]!.restartCount, 1);
    const held = await sync(pod);
    assert.equal(held.steps.at(-1)!.reason, 'CrashLoopBackOff');
    assert.ok(held.retryAfterMs! > 0 && held.retryAfterMs! <= 10_000);
    await remove(pod);
  });

  it("reads its own termination message file where a pod mounts a FIFO of a volume at the file's path", async () => {
    const volume = `${containerd.directory}/fifo`;
    await containerd.platform.files.makeDir(volume);
    await must('mkfifo', [`${volume}/f`]);
    world.volumes.set('d', { name: 'd', hostPath: volume, readOnly: false, selinuxRelabel: false, block: false });
    const names = ['one', 'two', 'three', 'four', 'five'];
    const pod = newPod({
      restartPolicy: 'Never',
      containers: names.map((name) => ({
        name,
        ...shell(`echo ${name} > /dev/termination-log; exit 1`),
        terminationMessagePath: '/dev/termination-log',
        volumeMounts: [{ name: 'd', mountPath: '/dev/termination-log', subPath: 'f' }],
      })),
    });
    await sync(pod);
    await until('all messages', async () => {
      const { containers } = await status(pod);
      assert.deepEqual(
        containers.map(({ message }) => message).toSorted(),
        names.map((name) => `${name}\n`).toSorted(),
      );
      return true;
    });
    await remove(pod);
  });

  it('runs init containers, sidecars and containers that share a process namespace', async () => {
    const pod = newPod({
      shareProcessNamespace: true,
      initContainers: [
        { name: 'init', ...shell('exit 0') },
        { name: 'side', ...shell(WAIT_FOR_TERM), restartPolicy: 'Always' },
      ],
      containers: [{ name: 'main', ...shell(WAIT_FOR_TERM) }],
    });
    await untilStopped(pod, () => sync(pod));
    await sync(pod);
    await sync(pod);
    const running = (await status(pod)).containers
      .filter((container) => container.state === 'running')
      .map((container) => container.name);
    assert.deepEqual(running.toSorted(), ['main', 'side']);
    assert.match(await run(pod, 'cat /proc/1/cmdline'), /pause/);
    await remove(pod);
  });

  const namespaces = ['net', 'ipc', 'uts', 'pid'] as const;
  const namespacesOf = async (pod: Pod, container: string): Promise<Readonly<Record<string, string>>> => {
    const links = namespaces.map((name) => `/bin/busybox readlink /proc/self/ns/${name}`);
    const lines = (await run(pod, links.join('; '), container)).split('\n');
    return Object.fromEntries(namespaces.map((name, at) => [name, lines[at]!]));
  };

  it('shares exactly network, IPC and host name among the containers of a pod', async () => {
    const containers = ['one', 'two'].map((name) => ({ name, ...shell(WAIT_FOR_TERM) }));
    const pod = newPod({ containers });
    await sync(pod);
    const [one, two] = [await namespacesOf(pod, 'one'), await namespacesOf(pod, 'two')];
    for (const name of ['net', 'ipc', 'uts']) {
      assert.equal(one[name], two[name], name);
      assert.notEqual(one[name], readlinkSync(`/proc/self/ns/${name}`), name);
    }
    assert.notEqual(one['pid'], two['pid']);
    await remove(pod);
  });

  it('gives a pod the namespaces of the host that its spec requests', async () => {
    const hosts = Object.fromEntries(namespaces.map((name) => [name, readlinkSync(`/proc/self/ns/${name}`)]));
    const pod = newPod({
      hostNetwork: true,
      hostPID: true,
      hostIPC: true,
      containers: [{ name: 'main', ...shell(WAIT_FOR_TERM) }],
    });
    assert.equal((await sync(pod)).error, undefined);
    assert.deepEqual(await namespacesOf(pod, 'main'), hosts);
    await remove(pod);
  });

  it('gives containers the users, groups, capabilities, filters and sysctls of their specs', async () => {
    const pod = newPod({
      setHostnameAsFQDN: true,
      hostname: 'box',
      subdomain: 'sub',
      hostAliases: [{ ip: '192.0.2.7', hostnames: ['elsewhere'] }],
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['192.0.2.53'], searches: ['example.com'], options: [{ name: 'ndots', value: '2' }] },
      securityContext: {
        runAsUser: 1000,
        runAsGroup: 2000,
        fsGroup: 3000,
        supplementalGroups: [4000],
        sysctls: [{ name: 'kernel.shm_rmid_forced', value: '1' }],
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [
        {
          name: 'main',
          ...shell(WAIT_FOR_TERM),
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
        {
          name: 'free',
          ...shell(WAIT_FOR_TERM),
          securityContext: { privileged: true, runAsUser: 0, seccompProfile: { type: 'Unconfined' } },
        },
      ],
    });
    const { error, steps } = await sync(pod);
    assert.equal(error, undefined, JSON.stringify(steps));
    const facts = async (container: string): Promise<Readonly<Record<string, string>>> => {
      const text = await run(pod, 'cat /proc/self/status', container);
      return Object.fromEntries(text.split('\n').map((line) => line.split(/:\s*/) as [string, string]));
    };
    const main = await facts('main');
    const groups = (main['Groups'] ?? '').trim().split(' ').map(Number);
    assert.deepEqual([main['Uid']?.split('\t')[0], main['Gid']?.split('\t')[0]], ['1000', '2000']);
    assert.deepEqual(
      groups.filter((group) => group !== 2000).toSorted((a, b) => a - b),
      [3000, 4000],
    );
    assert.deepEqual([main['CapBnd'], main['NoNewPrivs'], main['Seccomp']], ['0000000000000000', '1', '2']);
    const free = await facts('free');
    assert.deepEqual([free['NoNewPrivs'], free['Seccomp']], ['0', '0']);
    assert.notEqual(free['CapEff'], '0000000000000000');
    assert.equal(await run(pod, 'cat /proc/sys/kernel/shm_rmid_forced', 'main'), '1');
    assert.equal(await run(pod, 'hostname', 'main'), 'box.sub.default.svc.cluster.local');
    assert.match(await run(pod, 'cat /etc/hosts', 'main'), /192\.0\.2\.7\telsewhere/);
    assert.equal(
      await run(pod, 'cat /etc/resolv.conf', 'main'),
      'search example.com\nnameserver 192.0.2.53\noptions ndots:2',
    );
    await remove(pod);
  });

  it('runs an ephemeral container in the process namespace of its target', async () => {
    const script = 'trap "exit 0" TERM; /bin/busybox sleep 4242 & wait';
    const pod = newPod({ containers: [{ name: 'main', ...shell(script) }] });
    await sync(pod);
    const debugged: Pod = {
      ...pod,
      spec: {
        ...pod.spec!,
        ephemeralContainers: [{ name: 'debugger', targetContainerName: 'main', ...shell(WAIT_FOR_TERM) }],
      },
    };
    await sync(debugged);
    assert.match(await run(debugged, 'cat /proc/*/cmdline', 'debugger'), /sleep.4242/);
    const { containers } = await status(debugged);
    assert.deepEqual(containers.map(({ name, restartCount }) => `${name} ${restartCount}`).toSorted(), [
      'debugger 0',
      'main 0',
    ]);
    await remove(debugged);
  });

  it('restarts a container by the rule for its exit code, although the policy of its pod is Never', async () => {
    const again = { action: 'Restart', exitCodes: { operator: 'In', values: [42] } };
    const rules = { restartPolicy: 'Never', restartPolicyRules: [again] };
    const pod = newPod({
      restartPolicy: 'Never',
      containers: [
        { name: 'ruled', ...shell('exit 42'), ...rules },
        { name: 'other', ...shell('exit 41'), ...rules },
      ],
    });
    await sync(pod);
    const ends = async (): Promise<string[]> =>
      (await status(pod)).containers.map((each) => `${each.name} ${each.state} ${each.restartCount}`).toSorted();
    await until('both have ended', async () => {
      assert.deepEqual(await ends(), ['other exited 0', 'ruled exited 0']);
      return true;
    });
    await sync(pod);
    await until('one has ended again', async () => {
      assert.ok((await ends()).includes('ruled exited 1'));
      return true;
    });
    assert.equal((await status(pod)).containers.filter(({ name }) => name === 'other').length, 1);
    await remove(pod);
  });

  it('uses the end of the log as the message with FallbackToLogsOnError', async () => {
    const pod = newPod({
      restartPolicy: 'Never',
      containers: [
        {
          name: 'main',
          ...shell('echo one; echo two >&2; exit 1'),
          terminationMessagePolicy: 'FallbackToLogsOnError',
          terminationMessagePath: '/tmp/none',
        },
      ],
    });
    await untilStopped(pod, () => sync(pod));
    // The runtime copies the rest of the pipes after the container has ended.
    await until('both lines', async () => {
      const { message } = (await status(pod)).containers[0]!;
      assert.deepEqual(message.split('\n').filter(Boolean).toSorted(), ['one', 'two']);
      return true;
    });
    await remove(pod);
  });

  it('limits the time of commands', async () => {
    const pod = newPod({ hostNetwork: true, containers: [{ name: 'main', ...shell(WAIT_FOR_TERM) }] });
    await sync(pod);
    const [container] = (await status(pod)).containers;
    await assert.rejects(runtime.execSync(container!.id, ['/bin/busybox', 'sleep', '30'], 1000), { code: 'DEADLINE' });
    assert.match(
      await runtime.execUrl({
        containerId: container!.id,
        command: ['ls'],
        stdin: false,
        stdout: true,
        stderr: true,
        tty: false,
      }),
      /^http/,
    );
    await remove(pod);
  });

  it('ends tasks of an interrupted start, and counts no restart', async () => {
    const pod = newPod({ hostNetwork: true, containers: [{ name: 'main', ...shell(WAIT_FOR_TERM) }] });
    const { steps } = await startsBehindCri.syncPod({
      pod,
      podStatus: await status(pod),
      pullSecrets: [],
      trace: noSteps,
      signal: new AbortController().signal,
    });
    assert.equal(steps.at(-1)!.reason, 'RunContainerError');
    const [lost] = (await status(pod)).containers;
    assert.equal(lost!.state, 'created');
    const pid = await pidOf(lost!.id);
    assert.equal((await sync(pod)).error, undefined);
    const { containers } = await status(pod);
    assert.deepEqual(
      containers.map(({ state, restartCount }) => [state, restartCount]),
      [['running', 0]],
    );
    assert.notEqual(containers[0]!.id, lost!.id);
    await until('the lost task has ended', async () => hasEnded(pid));
    await remove(pod);
  });

  it('removes a sandbox whose tasks CRI no longer lists', async () => {
    const pod = newPod({
      hostNetwork: true,
      containers: ['one', 'two'].map((name) => ({ name, ...shell(WAIT_FOR_TERM) })),
    });
    await startsBehindCri.syncPod({
      pod,
      podStatus: await status(pod),
      pullSecrets: [],
      trace: noSteps,
      signal: new AbortController().signal,
    });
    const { containers, sandboxes } = await status(pod);
    const pids = await Promise.all(containers.map(({ id }) => pidOf(id)));
    assert.equal(pids.length, 2);
    const podSandboxId = sandboxes[0]!.id;
    await containerd.client.runtime.stopPodSandbox({ podSandboxId });
    await containerd.client.runtime.removePodSandbox({ podSandboxId });
    for (const pid of pids) await until('the lost task has ended', async () => hasEnded(pid));
    assert.equal((await status(pod)).containers.length, 0);
  });
});
