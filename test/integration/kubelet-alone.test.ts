/**
 * `keelson kubelet` as a separate process: against a control plane over plain HTTPS with a node's credentials and the Node
 * authorizer, by TLS bootstrap, and without an API server on manifests. Real containerd throughout.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { ContainerStatus, Node, Pod } from '../../src/api/gen/core-v1.ts';
import { ConfigMaps, Nodes, Pods } from '../../src/api/gen/resources.ts';
import { absentForNotify, openNotifySocket } from '../../src/platform/node/notify-socket-fixture.ts';
import type { ControlPlaneFixture } from '../control-plane/control-plane-fixture.ts';
import { testCgroup, TEST_IMAGE_NAME } from './fixtures/containerd.ts';
import { startKubeletMachine, until, type KubeletMachine } from './fixtures/kubelet-machine.ts';
import { keelsonProgram, run } from './fixtures/programs.ts';

const TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount';
const HEAD = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

describe('the kubelet alone', () => {
  let machine: KubeletMachine;
  let plane: ControlPlaneFixture;
  let stopAlone = (): void => undefined;
  let aloneLog = (): string => '';

  before(async () => {
    machine = await startKubeletMachine();
    ({ plane } = machine);
  });
  after(() => machine?.close());

  /** The cgroup file with the memory limit of a container, v1 or v2. */
  async function cgroupFile(containerId: string): Promise<string> {
    const { version } = machine.containerd.platform.cgroups;
    const [root, name] =
      version === 2 ? ['/sys/fs/cgroup', 'memory.max'] : ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'];
    const found = await run('find', [`${root}${testCgroup}`, '-type', 'd', '-name', containerId]);
    return `${found.stdout.trim()}/${name}`;
  }

  it('registers with the credentials of a node, runs a pod of another user under a strict umask, and applies its configuration', async () => {
    const kubeconfig = await machine.credentials('alone', 'system:node:alone', 'system:nodes');
    const dropIns = join(machine.directory, 'conf.d');
    mkdirSync(dropIns);
    writeFileSync(
      join(dropIns, '10-pods.conf'),
      `${HEAD}maxPods: 7\nregisterWithTaints: [{key: own, effect: NoSchedule}]\n`,
    );
    const flags = ['--node-labels', 'tier=edge', '--node-ip', '127.0.0.1', '--config-dir', dropIns];
    const systemd = absentForNotify === undefined ? await openNotifySocket() : undefined;
    if (systemd !== undefined) Object.assign(process.env, { NOTIFY_SOCKET: systemd.path, WATCHDOG_USEC: '2000000' });
    const { kill, stderr } = machine.kubelet(
      'alone',
      '--kubeconfig',
      kubeconfig,
      '--hostname-override',
      'alone',
      '--max-pods=9',
      ...flags,
      '--cert-dir',
      join(machine.directory, 'pki'),
    );
    for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC']) delete process.env[name];
    if (systemd !== undefined) {
      for (const state of ['READY=1', 'WATCHDOG=1', 'WATCHDOG=1'])
        await until(`systemd hears ${state}`, async () => (await systemd.next()).split(' ').includes(state), stderr);
      await systemd.close();
    }
    const node = await until(
      'the node is Ready',
      async () => {
        const found = await plane.admin.resource(Nodes).get({ name: 'alone' });
        return found.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') && found;
      },
      stderr,
    );
    assert.equal(node.metadata.labels?.['tier'], 'edge');
    assert.equal(node.status?.capacity?.['pods'], '9', 'flags win');
    assert.ok(node.spec?.taints?.some(({ key }) => key === 'own'));
    await plane.admin.resource(Pods).create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 'default', name: 'web' },
      spec: {
        tolerations: [{ operator: 'Exists' }],
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: 'app',
            image: TEST_IMAGE_NAME,
            securityContext: { runAsUser: 1000 },
            command: [
              '/bin/sh',
              '-c',
              `busybox cat /etc/hosts ${TOKEN}/ca.crt >/dev/null && busybox touch /made/file && echo hello; exec busybox sleep 1000`,
            ],
            volumeMounts: [{ name: 'made', mountPath: '/made' }],
          },
        ],
        volumes: [{ name: 'made', emptyDir: {} }],
      },
    });
    const pod = await until(
      'the pod is Ready',
      async () => {
        const found = await plane.admin.resource(Pods).get({ namespace: 'default', name: 'web' });
        return found.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') && found;
      },
      stderr,
    );
    assert.equal(pod.spec?.nodeName, 'alone');
    assert.match(pod.status?.podIP ?? '', /^10\.231\.\d+\./);
    await until('what it says', async () => {
      assert.deepEqual(await plane.kubectl(['logs', 'web']), { code: 0, stdout: 'hello', stderr: '' });
      return true;
    });
    const configz = await plane.kubectl(['get', '--raw', '/api/v1/nodes/alone/proxy/configz']);
    assert.equal((JSON.parse(configz.stdout) as { kubeletconfig: { maxPods: number } }).kubeletconfig.maxPods, 9);
    assert.equal((await plane.kubectl(['delete', 'pod', 'web', '--timeout=120s'])).code, 0, stderr());
    stopAlone = () => kill('SIGTERM');
    aloneLog = stderr;
  });

  it('resizes a running pod in place, restarts containers whose resize policy requires it, and reports an infeasible resize', async () => {
    const pods = plane.admin.resource(Pods);
    const key = { namespace: 'default', name: 'elastic' };
    const sleeper = { image: TEST_IMAGE_NAME, command: ['busybox', 'sleep', '1000'] };
    await pods.create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: key,
      spec: {
        tolerations: [{ operator: 'Exists' }],
        terminationGracePeriodSeconds: 0,
        containers: [
          {
            ...sleeper,
            name: 'soft',
            resources: { requests: { cpu: '100m' }, limits: { cpu: '200m', memory: '64Mi' } },
          },
          {
            ...sleeper,
            name: 'hard',
            resources: { limits: { memory: '32Mi' } },
            resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }],
          },
        ],
      },
    });
    const status = async (
      ready: (containers: Readonly<Record<string, ContainerStatus>>, pod: Pod) => boolean,
      what: string,
    ): Promise<Readonly<Record<string, ContainerStatus>>> =>
      until(
        what,
        async () => {
          const pod = await pods.get(key);
          const containers = Object.fromEntries((pod.status?.containerStatuses ?? []).map((c) => [c.name, c]));
          return ready(containers, pod) && containers;
        },
        aloneLog,
      );
    await status(({ soft, hard }) => soft?.started === true && hard?.started === true, 'the pod runs');
    const resize = (containers: object[]): Promise<Pod> =>
      pods.patch(key, { type: 'strategic', patch: { spec: { containers } } }, { subresource: 'resize' });
    await resize([
      { name: 'soft', resources: { requests: { cpu: '150m' }, limits: { cpu: '300m', memory: '96Mi' } } },
      { name: 'hard', resources: { requests: { memory: '48Mi' }, limits: { memory: '48Mi' } } },
    ]);
    const { soft, hard } = await status(
      (now, { status: of }) =>
        now['soft']?.resources?.limits?.['memory'] === '96Mi' &&
        now['hard']?.restartCount === 1 &&
        now['hard'].resources?.limits?.['memory'] === '48Mi' &&
        of?.conditions?.every(({ type }) => !type.startsWith('PodResize')) === true,
      'the pod is resized',
    );
    assert.equal(soft?.restartCount, 0);
    assert.deepEqual(soft?.allocatedResources, { cpu: '150m', memory: '64Mi' });
    assert.equal(hard?.state?.running !== undefined, true);
    const id = soft?.containerID?.replace('containerd://', '') ?? '';
    const limit = readFileSync(await cgroupFile(id), 'utf8').trim();
    assert.equal(limit, String(96 * 2 ** 20));
    await assert.rejects(
      resize([{ name: 'soft', resources: { requests: { cpu: '900' }, limits: { cpu: '900' } } }]),
      /pods "elastic" is forbidden: Node didn't have enough allocatable resources: cpu, requested: 900000/,
    );
    await pods.delete(key, { gracePeriodSeconds: 0 });
  });

  it('resizes the pod-level resources of a running pod, and thereby its containers without limits', async () => {
    const pods = plane.admin.resource(Pods);
    const key = { namespace: 'default', name: 'whole' };
    const of = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } });
    await pods.create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: key,
      spec: {
        tolerations: [{ operator: 'Exists' }],
        terminationGracePeriodSeconds: 0,
        resources: of('200m', '64Mi'),
        containers: [{ name: 'app', image: TEST_IMAGE_NAME, command: ['busybox', 'sleep', '1000'] }],
      },
    });
    const inForce = (memory: string): Promise<Pod> =>
      until(
        `${memory} are in force`,
        async () => {
          const pod = await pods.get(key);
          const { resources, conditions = [], containerStatuses } = pod.status ?? {};
          const settled = conditions.every(({ type }) => !type.startsWith('PodResize'));
          const started = containerStatuses?.[0]?.started === true;
          return started && settled && resources?.limits?.['memory'] === memory && pod;
        },
        aloneLog,
      );
    const limits = async (pod: Pod): Promise<string[]> => {
      const file = await cgroupFile(
        pod.status?.containerStatuses?.[0]?.containerID?.replace('containerd://', '') ?? '',
      );
      const ofPod = join(dirname(dirname(file)), basename(file));
      return [file, ofPod].map((path) => readFileSync(path, 'utf8').trim());
    };
    assert.deepEqual(
      await limits(await inForce('64Mi')),
      [64, 64].map((mi) => String(mi * 2 ** 20)),
    );
    await pods.patch(
      key,
      { type: 'strategic', patch: { spec: { resources: of('300m', '96Mi') } } },
      { subresource: 'resize' },
    );
    const resized = await inForce('96Mi');
    assert.deepEqual(
      await limits(resized),
      [96, 96].map((mi) => String(mi * 2 ** 20)),
    );
    assert.deepEqual(resized.status?.allocatedResources, { cpu: '300m', memory: '96Mi' });
    assert.deepEqual(resized.status?.resources, of('300m', '96Mi'));
    assert.equal(resized.status?.containerStatuses?.[0]?.restartCount, 0);
    const patch = (memory: string): Promise<Pod> =>
      pods.patch(
        key,
        { type: 'strategic', patch: { spec: { resources: of('300m', memory) } } },
        { subresource: 'resize' },
      );
    await patch('48Mi');
    const lowered = await inForce('48Mi');
    assert.deepEqual(
      await limits(lowered),
      [48, 48].map((mi) => String(mi * 2 ** 20)),
    );
    await patch('4Ki');
    await until(
      'less than it uses is refused',
      async () => {
        const told = (await pods.get(key)).status?.conditions?.find(({ reason }) => reason === 'Error')?.message ?? '';
        return /^cannot decrease memory limits: \[attempting to set pod .*, attempting to set container "app" /.test(
          told,
        );
      },
      aloneLog,
    );
    assert.deepEqual(
      await limits(lowered),
      [48, 48].map((mi) => String(mi * 2 ** 20)),
    );
    await pods.delete(key, { gracePeriodSeconds: 0 });
  });

  it('evicts pods that exceed their limits of ephemeral storage, and reports the reason', async () => {
    const write = (path: string): string[] => [
      '/bin/sh',
      '-c',
      `busybox dd if=/dev/zero of=${path}/f bs=1M count=5; exec busybox sleep 1000`,
    ];
    const app = { name: 'app', image: TEST_IMAGE_NAME };
    const specs: Readonly<Record<string, NonNullable<Pod['spec']>>> = {
      volume: {
        containers: [{ ...app, command: write('/cache'), volumeMounts: [{ name: 'cache', mountPath: '/cache' }] }],
        volumes: [{ name: 'cache', emptyDir: { sizeLimit: '1Mi' } }],
      },
      layer: {
        containers: [{ ...app, command: write(''), resources: { limits: { 'ephemeral-storage': '2Mi' } } }],
      },
    };
    for (const [name, spec] of Object.entries(specs))
      await plane.admin.resource(Pods).create({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { namespace: 'default', name },
        spec: { ...spec, tolerations: [{ operator: 'Exists' }], terminationGracePeriodSeconds: 1 },
      });
    const told = async (name: string): Promise<string> => {
      const pod = await until(
        `${name} is evicted`,
        async () => {
          const found = await plane.admin.resource(Pods).get({ namespace: 'default', name });
          return found.status?.reason === 'Evicted' && found.status.phase === 'Failed' && found;
        },
        aloneLog,
      );
      return pod.status?.message ?? '';
    };
    assert.equal(await told('volume'), 'Usage of EmptyDir volume "cache" exceeds the limit "1Mi". ');
    assert.equal(await told('layer'), 'Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. ');
    await until(
      'both have their event',
      async () => {
        const events = await plane.kubectl(['get', 'events', '--field-selector=reason=Evicted', '-o', 'name']);
        return events.stdout.split('\n').length >= 2;
      },
      aloneLog,
    );
    stopAlone();
  });

  it('requests its certificate with bootstrap credentials and registers with that certificate', async () => {
    const bootstrap = await machine.credentials('bootstrap', 'system:bootstrap:abcdef', 'system:bootstrappers');
    for (const [name, role] of [
      ['make', 'system:node-bootstrapper'],
      ['approve', 'system:certificates.k8s.io:certificatesigningrequests:nodeclient'],
    ] as const) {
      const made = await plane.kubectl([
        'create',
        'clusterrolebinding',
        `bootstrap-${name}`,
        `--clusterrole=${role}`,
        '--group=system:bootstrappers',
      ]);
      assert.equal(made.code, 0, made.stderr);
    }
    await machine.configure();
    const kubeconfig = join(machine.directory, 'made.kubeconfig');
    const flags = ['--bootstrap-kubeconfig', bootstrap, '--kubeconfig', kubeconfig, '--rotate-certificates'];
    const { kill, stderr } = machine.kubelet(
      'boot',
      ...flags,
      '--hostname-override',
      'boot',
      '--cert-dir',
      join(machine.directory, 'pki-boot'),
    );
    await until('the node has registered', () => plane.admin.resource(Nodes).get({ name: 'boot' }), stderr);
    assert.match(readFileSync(kubeconfig, 'utf8'), /kubelet-client-current\.pem/);
    const requests = await plane.kubectl(['get', 'csr', '-o', 'jsonpath={.items[*].spec.username}']);
    assert.deepEqual([...new Set(requests.stdout.split(' '))], ['system:bootstrap:abcdef']);
    kill('SIGTERM');
  });

  it('restarts with the configuration that its node names, while the process and its pod keep running', async () => {
    await machine.configure();
    const kubeconfig = await machine.credentials('dynamic', 'system:node:dynamic', 'system:nodes');
    const folders = [
      '--cert-dir',
      join(machine.directory, 'pki'),
      '--dynamic-config-dir',
      join(machine.directory, 'dyn'),
    ];
    const flags = ['--kubeconfig', kubeconfig, '--hostname-override', 'dynamic', '--node-ip', '127.0.0.1', ...folders];
    const { kill, stderr, pid } = machine.kubelet('dynamic', ...flags);
    const nodes = plane.admin.resource(Nodes);
    const capacity = (pods: string): Promise<Node> =>
      until(
        `room for ${pods} pods`,
        async () => {
          const node = await nodes.get({ name: 'dynamic' });
          return node.status?.capacity?.['pods'] === pods && node;
        },
        stderr,
      );
    await capacity('110');
    const key = { namespace: 'default', name: 'steady' };
    await plane.admin.resource(Pods).create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: key,
      spec: {
        nodeName: 'dynamic',
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'app', image: TEST_IMAGE_NAME, command: ['busybox', 'sleep', '1000'] }],
      },
    });
    const containerOf = (): Promise<ContainerStatus> =>
      until(
        'the pod runs',
        async () => {
          const [app] = (await plane.admin.resource(Pods).get(key)).status?.containerStatuses ?? [];
          return app?.state?.running !== undefined && app;
        },
        stderr,
      );
    const before = await containerOf();
    const configMap = { namespace: 'kube-system', name: 'wished', kubeletConfigKey: 'kubelet' };
    const wished = { ...(JSON.parse(readFileSync(machine.configFile, 'utf8')) as object), maxPods: 6 };
    const { namespace, name } = configMap;
    await plane.admin.resource(ConfigMaps).create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace, name },
      data: { kubelet: JSON.stringify(wished) },
    });
    await nodes.patch({ name: 'dynamic' }, { type: 'merge', patch: { spec: { configSource: { configMap } } } });
    await capacity('6');
    await until(
      'the node tells which configuration is active',
      async () => (await nodes.get({ name: 'dynamic' })).status?.config?.active?.configMap?.name === name,
      stderr,
    );
    const after = await containerOf();
    assert.deepEqual([after.containerID, after.restartCount], [before.containerID, 0]);
    assert.equal(process.kill(pid, 0), true, 'the same process');
    await plane.admin.resource(Pods).delete(key);
    kill('SIGTERM');
  });

  it('runs manifests without an API server, once', async () => {
    const manifests = join(machine.directory, 'manifests');
    mkdirSync(manifests);
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'static' },
      spec: { containers: [{ name: 'app', image: TEST_IMAGE_NAME, command: ['busybox', 'sleep', '1000'] }] },
    };
    writeFileSync(join(manifests, 'pod.json'), JSON.stringify(pod));
    await machine.configure();
    const root = ['--root-dir', join(machine.directory, 'once'), '--cert-dir', join(machine.directory, 'pki-once')];
    const args = ['kubelet', '--config', machine.configFile, '--pod-manifest-path', manifests, '--runonce', ...root];
    const done = await run(process.execPath, [keelsonProgram, ...args]);
    assert.equal(done.code, 0, done.stderr.slice(-3000));
    assert.ok((await machine.sandboxes()).some(([, name]) => name === `static-${hostname().toLowerCase()}`));
  });

  const refused: readonly [string, readonly string[], RegExp][] = [
    ['an early flag', ['--api-servers=http://a:8080'], /--api-servers is gone: --kubeconfig names a file/],
    ['an unknown flag', ['--no-such-flag'], /unknown flag: --no-such-flag/],
    ['a manifest folder as --config', ['--config', '/tmp'], /manifests of pods are given by --pod-manifest-path/],
    ['a value of the wrong kind', ['--max-pods=many'], /invalid argument "many" for "--max-pods" flag/],
    ['what it cannot do', ['--kernel-memcg-notification=true'], /kernelMemcgNotification: true is not supported/],
  ];
  for (const [name, flags, message] of refused)
    it(`refuses ${name} in one line`, async () => {
      const { code, stderr } = await run(process.execPath, [keelsonProgram, 'kubelet', ...flags]);
      assert.notEqual(code, 0);
      assert.match(stderr.trim(), message);
      assert.equal(stderr.trim().split('\n').length, 1);
    });
});
