/** kubectl against the API server's proxy, the kubelet's server and a real containerd: logs, exec, attach, port-forward. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import * as k8s from '@kubernetes/client-node';
import { stored } from '../../src/api/stored-fixture.ts';
import { noSteps } from '../../src/component-helpers/pod-trace/step-scope.ts';
import type { Node, Pod } from '../../src/api/gen/core-v1.ts';
import { StatusError } from '../../src/api/status-error.ts';
import type { ApiRequest, ApiResponse } from '../../src/api/transport.ts';
import type { ObjectStore } from '../../src/apiserver/registry/object-store.ts';
import { createKubeletConnector } from '../../src/apiserver/streaming/kubelet-connector.ts';
import type { ContainerRuntime, PodStatus } from '../../src/kubelet/container/runtime.ts';
import { createContainerRuntime } from '../../src/kubelet/runtime/container-runtime.ts';
import { createWorld, fixtureConfig, fixtureDeps, podOf } from '../../src/kubelet/runtime/runtime-fixture.ts';
import { createKubeletServer } from '../../src/kubelet/server/kubelet-server.ts';
import type { HttpRequest, HttpResponse, HttpServer } from '../../src/platform/http.ts';
import { createTestAuthority } from '../../src/platform/node/certificates-fixture.ts';
import { kubectlPrograms } from '../../tools/kubectl.ts';
import {
  removeTestCgroups,
  startContainerd,
  testCgroup,
  TEST_IMAGE_NAME,
  type ContainerdFixture,
} from './fixtures/containerd.ts';
import { until } from './fixtures/until.ts';

const SCRIPT = `echo started; echo to-stderr >&2; trap "exit 0" TERM; while true; do read line && echo "got $line" || /bin/busybox sleep 1; done`;

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

describe('streams from kubectl to containerd', () => {
  let containerd: ContainerdFixture;
  let runtime: ContainerRuntime;
  let status: PodStatus;
  let api: HttpServer;
  let kubelet: HttpServer;
  const pod: Pod = podOf({
    hostNetwork: true,
    nodeName: 'node-1',
    containers: [
      {
        name: 'main',
        image: TEST_IMAGE_NAME,
        imagePullPolicy: 'IfNotPresent',
        command: ['/bin/sh', '-c', SCRIPT],
        stdin: true,
      },
    ],
  });

  before(async () => {
    containerd = await startContainerd();
    const { platform } = containerd;
    const config = fixtureConfig(containerd.directory);
    const deps = fixtureDeps(containerd.client, platform, createWorld());
    const podContainers = { criParent: () => `${testCgroup}/stream` } as unknown as typeof deps.podContainers;
    runtime = createContainerRuntime(
      { ...deps, podContainers },
      { ...config, resources: { ...config.resources, cgroupVersion: platform.cgroups.version } },
    );
    const read = (): Promise<PodStatus> => runtime.getPodStatus('uid-1', 'web', 'default');
    const result = await runtime.syncPod({
      pod,
      podStatus: await read(),
      pullSecrets: [],
      trace: noSteps,
      signal: new AbortController().signal,
    });
    assert.equal(result.error, undefined);
    status = await read();
    await startServers();
    await until('the first lines', async () => {
      const { stdout } = await outcomeOf(kubectlPrograms()[0]!, ['logs', 'web']);
      return stdout.includes('started\n') && stdout.includes('to-stderr\n');
    });
  });
  after(async () => {
    await api?.close(0);
    await kubelet?.close(0);
    const runtimePod = (await runtime.getPods(true))[0]!;
    await runtime.killPod({ pod, runtimePod, gracePeriodSeconds: 1 });
    await containerd.close();
    await removeTestCgroups();
  });

  async function startServers(): Promise<void> {
    const { platform } = containerd;
    const authority = await createTestAuthority('cluster');
    const serving = await authority.issue('CN=node-1', ['127.0.0.1']);
    const client = await authority.issue('CN=kube-apiserver, O=system:masters');
    const handler = createKubeletServer({
      host: {
        nodeName: 'node-1',
        pods: () => [pod],
        podByName: () => pod,
        podByUid: () => pod,
        podStatus: () => status,
        healthProblems: () => [],
        configz: () => ({}),
        stepsOf: () => undefined,
        stateOf: () => undefined,
        activityOf: () => undefined,
      },
      runtime,
      platform,
      probeMetrics: async () => '',
      auth: {
        authenticate: async ({ peerCertificate }) =>
          peerCertificate === undefined ? undefined : { name: peerCertificate.commonName, groups: [] },
        authorize: async ({ name }) => name === 'kube-apiserver',
      },
      stats: {
        summary: () => Promise.reject(new Error('no statistics here')),
        kubeletMetrics: async () => '',
        cadvisorMetrics: async () => '',
        resourceMetrics: async () => '',
      },
    });
    kubelet = await platform.listenHttp(
      { host: '127.0.0.1', port: 0, tls: { ...serving, clientCaPem: authority.caPem } },
      handler,
    );
    const node: Node = {
      metadata: { name: 'node-1' },
      status: {
        addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
        daemonEndpoints: { kubeletEndpoint: { Port: kubelet.port } },
      },
    };
    const connector = createKubeletConnector({
      net: platform.net,
      random: platform.random,
      crypto: platform.crypto,
      clock: platform.clock,
      objects: { get: () => node, list: () => [] } as unknown as ObjectStore,
      kubeletTls: () => ({ ...client, caPem: authority.caPem }),
    });
    api = await platform.listenHttp({ host: '127.0.0.1', port: 0 }, (request) => serveApi(request, connector));
  }

  async function serveApi(
    request: HttpRequest,
    connector: ReturnType<typeof createKubeletConnector>,
  ): Promise<HttpResponse> {
    const json = (status: number, object: object): HttpResponse => ({
      kind: 'bytes',
      status,
      headers: { 'content-type': 'application/json' },
      chunks: [Buffer.from(JSON.stringify(object))],
    });
    if (request.path === '/api') return json(200, { kind: 'APIVersions', versions: ['v1'] });
    if (request.path === '/apis') return json(200, { kind: 'APIGroupList', apiVersion: 'v1', groups: [] });
    if (request.path === '/api/v1')
      return json(200, {
        kind: 'APIResourceList',
        groupVersion: 'v1',
        resources: [{ name: 'pods', singularName: 'pod', namespaced: true, kind: 'Pod', verbs: ['get', 'list'] }],
      });
    const match = /^\/api\/v1\/namespaces\/default\/pods\/web(?:\/(log|exec|attach|portforward))?$/.exec(request.path);
    if (match === null)
      return json(404, {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        code: 404,
        reason: 'NotFound',
        message: `no ${request.path}`,
      });
    if (match[1] === undefined) return json(200, { ...pod, status: { phase: 'Running' } });
    const { method, path, query, headers, remoteAddress, signal, wantsUpgrade } = request;
    const apiRequest: ApiRequest = {
      method,
      path,
      query,
      headers,
      remoteAddress,
      signal,
      wantsUpgrade,
      wantsObjects: false,
      body: { kind: 'none' },
    };
    try {
      return (await connector.connectPod(stored(pod), match[1] as 'log', {
        request: apiRequest,
        context: {} as never,
      })) as Exclude<ApiResponse, { kind: 'object' | 'watch' }>;
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return json(error.code, error.status);
    }
  }

  function start(
    program: string,
    args: readonly string[],
  ): { child: ReturnType<typeof spawn>; outcome: Promise<Outcome> } {
    const child = spawn(program, ['--server', `http://127.0.0.1:${api.port}`, '--kubeconfig', '/dev/null', ...args], {
      env: { PATH: process.env['PATH'], HOME: containerd.directory },
      timeout: 180_000,
    });
    const texts = ['', ''];
    child.stdout.on('data', (chunk) => (texts[0] += String(chunk)));
    child.stderr.on('data', (chunk) => (texts[1] += String(chunk)));
    return {
      child,
      outcome: once(child, 'close').then(([code]) => ({ code: code as number, stdout: texts[0]!, stderr: texts[1]! })),
    };
  }

  const outcomeOf = (program: string, args: readonly string[], input = ''): Promise<Outcome> => {
    const { child, outcome } = start(program, args);
    child.stdin!.end(input);
    return outcome;
  };
  const limit = { timeout: 180_000 };
  for (const program of kubectlPrograms()) {
    const run = (input: string | undefined, ...args: string[]): Promise<Outcome> => outcomeOf(program, args, input);
    const name = program.includes('1.36') ? 'kubectl 1.36' : 'kubectl of the machine';

    it(`${name}: logs`, limit, async () => {
      const { stdout, code, stderr } = await run(undefined, 'logs', 'web', '--tail=2');
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
      assert.match(stdout, /^(started|to-stderr)\n/);
      const missing = await run(undefined, 'logs', 'web', '-c', 'other');
      assert.match(missing.stderr, /container other is not valid for pod web/);
    });

    it(`${name}: exec with output, errors and exit code`, limit, async () => {
      const outcome = await run(undefined, 'exec', 'web', '--', '/bin/sh', '-c', 'echo out; echo err >&2; exit 3');
      // Older clients read before they have created their streams, and may complain about the empty first frame.
      const stderr = outcome.stderr.replaceAll(/^E.* Unknown stream id \d, discarding message\n/gm, '');
      assert.deepEqual(
        { ...outcome, stderr },
        { code: 3, stdout: 'out\n', stderr: 'err\ncommand terminated with exit code 3\n' },
      );
    });

    it(`${name}: exec with a long input to its end`, limit, async () => {
      const input = 'x'.repeat(3_000_000);
      const { stdout, code } = await run(input, 'exec', '-i', 'web', '--', '/bin/busybox', 'wc', '-c');
      assert.deepEqual({ stdout: stdout.trim(), code }, { stdout: '3000000', code: 0 });
    });

    it(`${name}: exec with a long output`, limit, async () => {
      const { stdout, code } = await run(undefined, 'exec', 'web', '--', '/bin/busybox', 'seq', '200000');
      assert.equal(code, 0);
      assert.equal(stdout.length, 1_288_895);
      assert.ok(stdout.endsWith('\n200000\n'));
    });

    it(`${name}: attach`, limit, async () => {
      const { child, outcome } = start(program, ['attach', '-i', 'web']);
      const seen = new Promise<void>((resolve) =>
        child.stdout!.on('data', (chunk) => String(chunk).includes('got ping') && resolve()),
      );
      // Repeated until the output contains it: the output may be attached after the input.
      const pings = setInterval(() => child.stdin!.write('ping\n'), 500);
      try {
        await Promise.race([seen, outcome.then(({ stderr }) => Promise.reject(new Error(stderr)))]);
      } finally {
        clearInterval(pings);
      }
      child.kill();
      await outcome;
    });

    it(`${name}: port-forward`, limit, async () => {
      // The pod uses the host's network, so its ports are those of this process.
      const server = createServer((socket) => socket.end('hello\n'));
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const { child, outcome } = start(program, ['port-forward', 'web', `:${(server.address() as AddressInfo).port}`]);
      const [line] = (await Promise.race([
        once(child.stdout!, 'data'),
        outcome.then(({ stderr }) => Promise.reject(new Error(stderr))),
      ])) as [Buffer];
      const port = Number(/127\.0\.0\.1:(\d+)/.exec(String(line))![1]);
      const socket = connect(port, '127.0.0.1');
      const [answer] = (await once(socket, 'data')) as [Buffer];
      assert.equal(String(answer), 'hello\n');
      socket.destroy();
      server.close();
      child.kill();
      await outcome;
    });
  }

  const clientConfig = (): k8s.KubeConfig => {
    const config = new k8s.KubeConfig();
    config.loadFromClusterAndUser(
      { name: 'test', server: `http://127.0.0.1:${api.port}`, skipTLSVerify: true },
      { name: 'test' },
    );
    return config;
  };

  it('the JavaScript client over WebSockets: exec', limit, async () => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const texts = ['', ''];
    stdout.on('data', (chunk) => (texts[0] += String(chunk)));
    stderr.on('data', (chunk) => (texts[1] += String(chunk)));
    const status = await new Promise<k8s.V1Status>((resolve, reject) => {
      new k8s.Exec(clientConfig())
        .exec(
          'default',
          'web',
          'main',
          ['/bin/sh', '-c', 'read line; echo "<$line>"; echo err >&2; exit 2'],
          stdout,
          stderr,
          PassThrough.from(['typed\n']),
          false,
          resolve,
        )
        .catch(reject);
    });
    assert.equal(status.status, 'Failure');
    assert.equal(status.details?.causes?.[0]?.message, '2');
    // Each stream has its own channel: they may arrive in any order.
    await until('all output', async () => texts[0]!.length >= 8 && texts[1]!.length >= 4);
    assert.deepEqual(texts, ['<typed>\n', 'err\n']);
  });

  it('the JavaScript client over WebSockets: a terminal', limit, async () => {
    const waitForSize = 'while [ "$(/bin/busybox stty size 2>/dev/null)" != "37 111" ]; do :; done;';
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    let text = '';
    stdout.on('data', (chunk) => (text += String(chunk)));
    const status = new Promise<k8s.V1Status>((resolve, reject) => {
      new k8s.Exec(clientConfig())
        .exec(
          'default',
          'web',
          'main',
          // The size is sent on another channel than the input, and may arrive later.
          ['/bin/sh', '-c', `read line; echo "<$line>"; ${waitForSize} /bin/busybox stty size`],
          stdout,
          null,
          stdin,
          true,
          resolve,
        )
        .then((socket) => {
          // Channel 4 carries the size of the terminal.
          (socket as { send(data: Buffer): void }).send(
            Buffer.concat([Buffer.from([4]), Buffer.from('{"Width":111,"Height":37}')]),
          );
          stdin.write('typed\n');
        }, reject);
    });
    assert.equal((await status).status, 'Success');
    await until('all output', async () => text.endsWith('<typed>\r\n37 111\r\n'));
  });

  it('the JavaScript client over WebSockets: port-forward', limit, async () => {
    const server = createServer((socket) => socket.end('hello\n'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const [output, input] = [new PassThrough(), new PassThrough()];
    const socket = await new k8s.PortForward(clientConfig()).portForward(
      'default',
      'web',
      [(server.address() as AddressInfo).port],
      output,
      null,
      input,
    );
    const [answer] = (await once(output, 'data')) as [Buffer];
    assert.equal(String(answer), 'hello\n');
    (socket as { close(): void }).close();
    server.close();
  });
});
