/** `kubectl port-forward` to simulated pods, over WebSockets and over SPDY; and a client that uses channels. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { KubeConfig, PortForward } from '@kubernetes/client-node';
import { Cluster } from '../../src/testing/index.ts';
import { kubectlProgram } from '../../tools/kubectl.ts';
import { until } from '../integration/fixtures/until.ts';

describe('port-forward to a simulated pod', () => {
  let cluster: Cluster;
  let folder: string;
  let kubeconfig: string;
  const running = new Set<ChildProcess>();

  before(async () => {
    cluster = await Cluster.start({ nodes: 1 });
    cluster.image('web:1', {
      http: ({ method, path, port }) => ({ status: 200, body: `${method} ${path} at ${port}: ${'x'.repeat(70_000)}` }),
    });
    const spec = { containers: [{ name: 'web', image: 'web:1' }] };
    await cluster.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec });
    await cluster.waitFor('pod/web', 'Ready');
    kubeconfig = await cluster.kubeconfig();
    folder = await mkdtemp(join(tmpdir(), 'keelson-forward-'));
    await writeFile(join(folder, 'kubeconfig'), kubeconfig);
  });

  after(async () => {
    for (const child of running) child.kill('SIGKILL');
    await cluster.stop();
    await rm(folder, { recursive: true });
  });

  /** Forwards a free port of this machine to each port of the pod. */
  async function forward(webSockets: boolean, podPorts: readonly number[]) {
    const args = [`--kubeconfig=${folder}/kubeconfig`, `--cache-dir=${folder}/cache`, 'port-forward', 'pod/web'];
    const child = spawn(kubectlProgram(), [...args, ...podPorts.map((port) => `:${port}`)], {
      env: { ...process.env, KUBECTL_PORT_FORWARD_WEBSOCKETS: String(webSockets) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const portOf = (podPort: number): string | undefined =>
      new RegExp(`127\\.0\\.0\\.1:(\\d+) -> ${podPort}\\b`).exec(said)?.[1];
    await until('kubectl listens', async () => podPorts.every((port) => portOf(port) !== undefined));
    return {
      said: () => said,
      get: async (podPort: number, path: string) =>
        (await fetch(`http://127.0.0.1:${portOf(podPort)}${path}`, { headers: { connection: 'close' } })).text(),
    };
  }

  for (const webSockets of [true, false]) {
    test(`kubectl over ${webSockets ? 'WebSockets' : 'SPDY'}: several ports, several connections`, async () => {
      const { get } = await forward(webSockets, [80, 8080]);
      for (const [port, path] of [
        [80, '/a'],
        [8080, '/b?c=d'],
        [80, '/e'],
      ] as const)
        assert.ok((await get(port, path)).startsWith(`GET ${path.split('?')[0]} at ${port}: xxx`), path);
      const bodies = await Promise.all(Array.from({ length: 5 }, (_, at) => get(80, `/${at}`)));
      assert.deepEqual(
        bodies.map((body) => body.length),
        bodies.map(() => 'GET /0 at 80: '.length + 70_000),
      );
    });

    test(`kubectl over ${webSockets ? 'WebSockets' : 'SPDY'}: a port without a listener`, async () => {
      const { get, said } = await forward(webSockets, [81]);
      await assert.rejects(get(81, '/'));
      await until('kubectl says why', async () => said().includes('connect: connection refused'));
    });
  }

  test('client-node, which uses channels', async () => {
    const config = new KubeConfig();
    config.loadFromString(kubeconfig);
    const [output, errors, input] = [new PassThrough(), new PassThrough(), new PassThrough()];
    await new PortForward(config).portForward('default', 'web', [8080], output, errors, input);
    input.write('GET /channels HTTP/1.1\r\nhost: web\r\n\r\n');
    let said = '';
    output.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await until('the whole answer', async () => said.length > 70_000);
    assert.match(said, /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nGET \/channels at 8080: x/);
  });
});
