/** `--registry` on a real cluster: containerd's client pushes, pods pull, and only programs of the machine have access. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { baseFiles } from '../../tools/demo-image.ts';
import { buildImage } from '../../tools/image-archive.ts';
import { keelson, startCluster, upArgs, type TestCluster } from './cluster-fixture.ts';
import { must, run } from './fixtures/programs.ts';
import { until } from './fixtures/until.ts';

describe('--registry', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'keelson-own-registry-'));
  let port: number;
  let cluster: TestCluster;

  before(async () => {
    port = await freePort('127.0.0.1');
    cluster = await startCluster({ images: false, flags: ['--registry', String(port)] });
  });
  after(async () => {
    await cluster?.stop();
    rmSync(scratch, { recursive: true, force: true });
  });

  const ctr = (...args: string[]) =>
    run('ctr', ['-a', `/run/keelson/${cluster.hash}/containerd.sock`, '-n', 'pushing', 'images', ...args]);
  /** Builds an image, imports it into a namespace that pods do not use, and pushes it from there. */
  const push = async (name: string, text: string) => {
    const path = join(scratch, 'image.tar');
    writeFileSync(
      path,
      buildImage({
        name,
        files: [...baseFiles(), { path: 'text', kind: 'file', content: text }],
        command: ['sleep', '1000'],
        environment: {},
      }).archive,
    );
    const imported = await ctr('import', '--no-unpack', path);
    assert.equal(imported.code, 0, imported.stderr);
    return await ctr('push', '--plain-http', name);
  };
  const runPod = async (name: string, image: string, ...flags: string[]): Promise<string> => {
    await cluster.kubectl(['run', name, `--image=${image}`, ...flags]);
    await cluster.kubectl(['wait', '--for=condition=Ready', `pod/${name}`, '--timeout=60s']);
    return (await cluster.kubectl(['exec', name, '--', 'cat', '/text'])).trim();
  };
  const reaches = (at: number): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect(at, '127.0.0.1');
      socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
      socket.on('connect', () => socket.destroy());
    });

  test('an image pushed with the client of containerd runs as a pod, under both names of loopback', async () => {
    const pushed = await push(`localhost:${port}/team/app:1`, 'first');
    assert.equal(pushed.code, 0, pushed.stderr);
    assert.equal(await runPod('one', `localhost:${port}/team/app:1`), 'first');
    assert.equal(await runPod('two', `127.0.0.1:${port}/team/app:1`), 'first');
    const tags = await fetch(`http://localhost:${port}/v2/team/app/tags/list`);
    assert.deepEqual(await tags.json(), { name: 'team/app', tags: ['1'] });
    const { stdout } = await keelson(['status', '--data-dir', cluster.dataDir]);
    assert.match(stdout, /^components .*\bregistry ok/m);
  });

  test('a tag that changed is pulled again where the pull policy is Always', async () => {
    assert.equal((await push(`localhost:${port}/team/moving:1`, 'old')).code, 0);
    assert.equal(await runPod('old', `localhost:${port}/team/moving:1`, '--image-pull-policy=Always'), 'old');
    assert.equal((await push(`localhost:${port}/team/moving:1`, 'new')).code, 0);
    assert.equal(await runPod('new', `localhost:${port}/team/moving:1`, '--image-pull-policy=Always'), 'new');
  });

  test('pushed images exist after a restart', async () => {
    assert.equal((await push(`localhost:${port}/team/kept:1`, 'kept')).code, 0);
    await must('bash', ['-c', `kill -9 ${await cluster.pid()}`]);
    await cluster.up();
    assert.equal(await runPod('kept', `localhost:${port}/team/kept:1`), 'kept');
  });

  test('a pod with the port of the registry as its host port does not receive the pulls of the registry', async () => {
    const other = await freePort('127.0.0.1');
    const ports = [other, port].map((hostPort) => ({ containerPort: 80, hostPort, hostIP: '127.0.0.1' }));
    const image = `localhost:${port}/team/app:1`;
    const command = ['httpd', '-f', '-p', '80', '-h', '/'];
    const overrides = JSON.stringify({ spec: { containers: [{ name: 'app', image, command, ports }] } });
    await cluster.kubectl(['run', 'thief', `--image=${image}`, `--overrides=${overrides}`]);
    const answer = (at: number, path: string): Promise<string> =>
      fetch(`http://127.0.0.1:${at}${path}`).then(
        async (response) => `${response.status} ${(await response.text()).trim()}`,
        () => '',
      );
    await until('its other host port', async () => (await answer(other, '/text')) === '200 first');
    assert.match(await answer(port, '/text'), /^404 .*UNSUPPORTED/);
    assert.equal(await answer(port, '/v2/'), '200 ');
    // Without a registry the pod may use the port.
    await cluster.kubectl(['delete', 'pod', 'thief', '--now']);
  });

  test('it listens on loopback only', async () => {
    const lines = (await must('ss', ['-Hltn'])).split('\n').filter((line) => line.includes(`:${port} `));
    assert.ok(lines.length > 0);
    for (const line of lines) assert.match(line, new RegExp(` (127\\.0\\.0\\.1|\\[::1\\]):${port} `));
  });

  test('a port in use is refused in one line, and without the option no trace of it is left', async () => {
    await keelson(['down', '--data-dir', cluster.dataDir]);
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve));
    const refused = await keelson([...upArgs(cluster), '--detach', '--registry', String(port)]);
    other.close();
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, new RegExp(`--registry: port ${port} of 127\\.0\\.0\\.1 is in use`));
    assert.doesNotMatch(refused.stdout + refused.stderr, /API server/, 'nothing was started');
    assert.ok(existsSync(join(cluster.dataDir, `registries/localhost:${port}/hosts.toml`)));
    const started = await keelson([...upArgs(cluster), '--detach']);
    assert.equal(started.code, 0, started.stderr);
    assert.equal(existsSync(join(cluster.dataDir, `registries/localhost:${port}`)), false);
    assert.equal(await reaches(port), false);
  });

  test('a host of registries.yaml that --registry serves is refused', async () => {
    await keelson(['down', '--data-dir', cluster.dataDir]);
    writeFileSync(
      join(cluster.dataDir, 'registries.yaml'),
      `mirrors: {"localhost:${port}": {endpoint: [http://localhost:1]}}`,
    );
    const refused = await keelson([...upArgs(cluster), '--detach', '--registry', String(port)]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /registries\.yaml has localhost:\d+, which --registry serves/);
    assert.doesNotMatch(readFileSync(join(cluster.dataDir, 'logs/keelson.log'), 'utf8'), /unexpected/);
  });
});
