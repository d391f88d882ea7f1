/**
 * `keelson kubelet` as a process of its own: against a control plane over plain HTTPS with a node's credentials and the
 * Node authorizer, by TLS bootstrap, and without an API server on manifests. Real containerd throughout.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Nodes, Pods } from '../../src/api/gen/resources.ts';
import { kubeconfigYaml } from '../../src/cluster/kubeconfig.ts';
import { issueCertificate, type KeyPairPem } from '../../src/component-helpers/pki/certificates.ts';
import { freePort, keelsonProgram } from './cluster-fixture.ts';
import { startContainerd, testImageName, type ContainerdFixture } from './fixtures/containerd.ts';
import { run, start, type Running } from './fixtures/programs.ts';
import { startControlPlane, type ControlPlaneFixture } from './control-plane-fixture.ts';

const HEAD = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

async function until<T>(what: string, probe: () => Promise<T | undefined | false>, log?: () => string): Promise<T> {
  for (let beat = 0; beat < 600; beat++) {
    const value = await probe().catch(() => undefined);
    if (value !== undefined && value !== false) return value;
    await sleep(50);
  }
  throw new Error(`${what}: not after 30 s\n${log?.() ?? ''}`);
}

describe('the kubelet alone', () => {
  let plane: ControlPlaneFixture;
  let containerd: ContainerdFixture;
  let directory: string;
  let configFile: string;
  let port: number;
  const running: Running[] = [];

  before(async () => {
    [plane, containerd] = await Promise.all([startControlPlane(), startContainerd({ network: true })]);
    directory = join(containerd.directory, 'kubelet');
    mkdirSync(directory);
    port = await freePort();
    configFile = join(directory, 'config.yaml');
    const serving = await issue({ commonName: 'system:node:alone', organization: 'system:nodes', server: true });
    writeFileSync(join(directory, 'serving.crt'), serving.certPem);
    writeFileSync(join(directory, 'serving.key'), serving.keyPem);
    writeConfig();
  });
  after(async () => {
    for (const { kill } of running) kill('SIGKILL');
    // What the kubelets made outside of containerd's folder.
    for (const [id] of await sandboxes()) await containerd.client.runtime.stopPodSandbox({ podSandboxId: id });
    for (const [id] of await sandboxes()) await containerd.client.runtime.removePodSandbox({ podSandboxId: id });
    await containerd.platform.cgroups.destroy('/');
    await containerd?.close();
    await plane?.stop();
  });

  const sandboxes = async (): Promise<[string, string][]> =>
    (await containerd.client.runtime.listPodSandbox({})).items.map(({ id, metadata }) => [id, metadata?.name ?? '']);
  const writeConfig = (): void => {
    const config = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      containerRuntimeEndpoint: `unix://${containerd.config.options.socketPath}`,
      cgroupRoot: '/keelson-test',
      failCgroupV1: false,
      failSwapOn: false,
      podLogsDir: `${directory}/logs`,
      healthzPort: 0,
      port,
      tlsCertFile: join(directory, 'serving.crt'),
      tlsPrivateKeyFile: join(directory, 'serving.key'),
      authentication: { x509: { clientCAFile: `${plane.directory}/pki/ca.crt` } },
      evictionHard: { 'memory.available': '1Mi' },
    };
    writeFileSync(configFile, JSON.stringify(config));
  };

  /** A certificate of the cluster's authority. */
  async function issue(spec: { commonName: string; organization: string; server?: boolean }): Promise<KeyPairPem> {
    const { crypto, random, clock } = containerd.platform;
    return issueCertificate({ crypto, random, nowMs: () => clock.nowMs() }, authority(), {
      commonName: spec.commonName,
      organizations: [spec.organization],
      ipAddresses: ['127.0.0.1'],
      usages: [spec.server === true ? 'server' : 'client'],
      validityMs: 3_600_000,
    });
  }

  function authority(): KeyPairPem {
    const read = (file: string): string => readFileSync(join(plane.directory, 'pki', file), 'utf8');
    return { certPem: read('ca.crt'), keyPem: read('ca.key') };
  }

  async function credentials(name: string, commonName: string, organization: string): Promise<string> {
    const path = join(directory, `${name}.kubeconfig`);
    const server = `https://127.0.0.1:${plane.port}`;
    const pair = await issue({ commonName, organization });
    const caPem = authority().certPem;
    writeFileSync(path, kubeconfigYaml({ server, caPem, ...pair, user: name, cluster: 'test' }));
    return path;
  }

  function kubelet(name: string, ...flags: string[]): Running {
    const all = ['kubelet', '--config', configFile, '--root-dir', join(directory, name), ...flags];
    const started = start(process.execPath, [keelsonProgram, ...all]);
    running.push(started);
    return started;
  }

  it('registers with the credentials of a node, runs a pod, and obeys its configuration', async () => {
    const kubeconfig = await credentials('alone', 'system:node:alone', 'system:nodes');
    const dropIns = join(directory, 'conf.d');
    mkdirSync(dropIns);
    writeFileSync(
      join(dropIns, '10-pods.conf'),
      `${HEAD}maxPods: 7\nregisterWithTaints: [{key: own, effect: NoSchedule}]\n`,
    );
    const flags = ['--node-labels', 'tier=edge', '--node-ip', '127.0.0.1', '--config-dir', dropIns];
    const { kill, stderr } = kubelet(
      'alone',
      '--kubeconfig',
      kubeconfig,
      '--hostname-override',
      'alone',
      '--max-pods=9',
      ...flags,
      '--cert-dir',
      join(directory, 'pki'),
    );
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
          { name: 'app', image: testImageName, command: ['/bin/sh', '-c', 'echo hello; exec busybox sleep 1000'] },
        ],
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
    assert.match(pod.status?.podIP ?? '', /^10\.231\.7\./);
    assert.deepEqual(await plane.kubectl(['logs', 'web']), { code: 0, stdout: 'hello', stderr: '' });
    const configz = await plane.kubectl(['get', '--raw', '/api/v1/nodes/alone/proxy/configz']);
    assert.equal((JSON.parse(configz.stdout) as { kubeletconfig: { maxPods: number } }).kubeletconfig.maxPods, 9);
    assert.equal((await plane.kubectl(['delete', 'pod', 'web', '--timeout=20s'])).code, 0);
    kill('SIGTERM');
  });

  it('asks for its certificate with bootstrap credentials and registers with what it got', async () => {
    const bootstrap = await credentials('bootstrap', 'system:bootstrap:abcdef', 'system:bootstrappers');
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
    port = await freePort();
    writeConfig();
    const kubeconfig = join(directory, 'made.kubeconfig');
    const flags = ['--bootstrap-kubeconfig', bootstrap, '--kubeconfig', kubeconfig, '--rotate-certificates'];
    const { kill, stderr } = kubelet(
      'boot',
      ...flags,
      '--hostname-override',
      'boot',
      '--cert-dir',
      join(directory, 'pki-boot'),
    );
    await until('the node has registered', () => plane.admin.resource(Nodes).get({ name: 'boot' }), stderr);
    assert.match(readFileSync(kubeconfig, 'utf8'), /kubelet-client-current\.pem/);
    const requests = await plane.kubectl(['get', 'csr', '-o', 'jsonpath={.items[*].spec.username}']);
    assert.equal(requests.stdout, 'system:bootstrap:abcdef');
    kill('SIGTERM');
  });

  it('runs manifests without an API server, once', async () => {
    const manifests = join(directory, 'manifests');
    mkdirSync(manifests);
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'static' },
      spec: { containers: [{ name: 'app', image: testImageName, command: ['busybox', 'sleep', '1000'] }] },
    };
    writeFileSync(join(manifests, 'pod.json'), JSON.stringify(pod));
    port = await freePort();
    writeConfig();
    const root = ['--root-dir', join(directory, 'once'), '--cert-dir', join(directory, 'pki-once')];
    const args = ['kubelet', '--config', configFile, '--pod-manifest-path', manifests, '--runonce', ...root];
    const done = await run(process.execPath, [keelsonProgram, ...args], { timeoutMs: 40_000 });
    assert.equal(done.code, 0, done.stderr.slice(-3000));
    assert.ok((await sandboxes()).some(([, name]) => name === `static-${hostname().toLowerCase()}`));
  });

  const refused: readonly [string, readonly string[], RegExp][] = [
    ['an early flag', ['--api-servers=http://a:8080'], /--api-servers is gone: --kubeconfig names a file/],
    ['an unknown flag', ['--no-such-flag'], /unknown flag: --no-such-flag/],
    ['a manifest folder as --config', ['--config', '/tmp'], /manifests of pods are given by --pod-manifest-path/],
    ['a value of the wrong kind', ['--max-pods=many'], /invalid argument "many" for "--max-pods" flag/],
    [
      'what it cannot do',
      ['--topology-manager-policy=best-effort'],
      /topologyManagerPolicy: "best-effort" is not supported/,
    ],
  ];
  for (const [name, flags, message] of refused)
    it(`refuses ${name} in one line`, async () => {
      const { code, stderr } = await run(process.execPath, [keelsonProgram, 'kubelet', ...flags], {
        timeoutMs: 20_000,
      });
      assert.notEqual(code, 0);
      assert.match(stderr.trim(), message);
      assert.equal(stderr.trim().split('\n').length, 1);
    });
});
