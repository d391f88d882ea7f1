/**
 * `registries.yaml` on a real cluster: a mirror with a password and a prefix for its image names, and one that wants
 * tokens and has other names.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { keelson, startCluster, type TestCluster } from './cluster-fixture.ts';
import type { Outcome } from './fixtures/programs.ts';
import { registryUser, startRegistry, withoutRegistry, type Registry } from './fixtures/registry.ts';
import { startTokenServer, type TokenServer } from './fixtures/token-server.ts';
import { until } from './fixtures/until.ts';

const IMAGE = 'images.example.com/app:1';

describe('registries.yaml', { skip: withoutRegistry }, () => {
  const scratch = mkdtempSync(join(tmpdir(), 'keelson-registries-'));
  let registry: Registry;
  let tokens: TokenServer;
  let renamed: Registry;
  let cluster: TestCluster;
  const pull = (): Promise<Outcome> => keelson(['image', 'pull', IMAGE, '--data-dir', cluster.dataDir]);
  const configure = async (lines: string): Promise<Outcome> => {
    writeFileSync(join(cluster.dataDir, 'registries.yaml'), lines);
    await keelson(['down', '--data-dir', cluster.dataDir]);
    return keelson(['up', '--detach', '--data-dir', cluster.dataDir]);
  };
  const mirror = (password: string): string => `
mirrors:
  images.example.com:
    endpoint: [http://${registry.host}]
    rewrite: {"^(.*)$": "team/$1"}
configs:
  ${registry.host}:
    auth: {username: ${registryUser.username}, password: ${password}}
`;

  const rewritten = (): string => `
mirrors:
  hub.example.com:
    endpoint: [http://${renamed.host}]
    rewrite: {"^other/(.*)": "none/$1", "^([a-z]+)/(.*)$": "hub/$1-$2"}
`;

  before(async () => {
    registry = await startRegistry(join(scratch, 'registry'), { auth: true });
    cluster = await startCluster({ images: false });
    tokens = await startTokenServer(scratch, registryUser);
    renamed = await startRegistry(join(scratch, 'renamed'), { tokens });
    const architecture = process.arch === 'x64' ? 'amd64' : 'arm64';
    const busybox = { path: 'bin/busybox', mode: 0o755, content: readFileSync('/bin/busybox') };
    const text = { path: 'text', mode: 0o644, content: Buffer.from('of a pod') };
    const image = { architecture, files: [busybox, text], env: ['PATH=/bin'], command: ['busybox', 'sleep', '1000'] };
    await registry.push('team/app', '1', image);
    await renamed.push('hub/library-app', '1', image);
    await renamed.push('hub/secret-app', '1', { ...image, env: [...image.env, 'X=1'] });
  });
  after(async () => {
    await cluster?.stop();
    await registry?.stop();
    await renamed?.stop();
    await tokens?.stop();
    rmSync(scratch, { recursive: true, force: true });
  });

  test('what is wrong is refused with the file and the key, and no process starts', async () => {
    const { code, stderr } = await configure('mirrors: {a.io: {endpoint: [m.io], rewrite: {"^library/(.*": "x/$1"}}}');
    assert.deepEqual(
      [code, /registries\.yaml: mirrors\.a\.io\.rewrite: error parsing regexp: missing closing \)/.test(stderr)],
      [1, true],
      stderr,
    );
  });

  test('the image of a pod is pulled from the mirror, with its credentials and under its prefix', async () => {
    assert.equal((await configure(mirror('wrong'))).code, 0);
    assert.notEqual((await pull()).code, 0);
    assert.equal((await configure(mirror(registryUser.password))).code, 0);
    assert.equal(statSync(join(cluster.dataDir, 'containerd.toml')).mode & 0o077, 0);
    await cluster.kubectl(['run', 'app', `--image=${IMAGE}`]);
    await cluster.kubectl(['wait', '--for=condition=Ready', 'pod/app', '--timeout=60s']);
    assert.match((await pull()).stdout, /^pulled images\.example\.com\/app:1 \([0-9a-f]{12}\)/);
  });

  test('a pod’s image has another name at the mirror, which wants a token for that name', async () => {
    const config = `
configs:
  ${renamed.host}:
    auth: {username: ${registryUser.username}, password: ${registryUser.password}}
`;
    assert.equal((await configure(`${rewritten()}${config}`)).code, 0);
    const file = join(cluster.dataDir, 'registries/hub.example.com/hosts.toml');
    assert.equal(statSync(file).mode & 0o077, 0);
    await cluster.kubectl(['run', 'renamed', '--image=hub.example.com/library/app:1']);
    await cluster.kubectl(['wait', '--for=condition=Ready', 'pod/renamed', '--timeout=60s']);
    assert.deepEqual(tokens.scopes, ['repository:hub/library-app:pull']);
    const [url = ''] = /https:\/\/127\.0\.0\.1:\d+\/0\/v2/.exec(readFileSync(file, 'utf8')) ?? [];
    const ca = readFileSync(join(cluster.dataDir, 'registries/mirror-proxy-ca.pem'));
    const status = await new Promise((resolve, reject) => {
      const asked = get(`${url}/library/app/manifests/1`, { ca }, (answer) => resolve(answer.resume().statusCode));
      asked.on('error', reject);
    });
    assert.equal(status, 403);
  });

  test('a pod with the port of the mirror proxy as its host port does not receive the pulls', async () => {
    const file = join(cluster.dataDir, 'registries/hub.example.com/hosts.toml');
    const [, port = ''] = /127\.0\.0\.1:(\d+)\/0\/v2/.exec(readFileSync(file, 'utf8')) ?? [];
    const other = await freePort('127.0.0.1');
    const ports = [other, Number(port)].map((hostPort) => ({ containerPort: 80, hostPort, hostIP: '127.0.0.1' }));
    const image = 'hub.example.com/library/app:1';
    const command = ['busybox', 'httpd', '-f', '-p', '80', '-h', '/'];
    const overrides = JSON.stringify({ spec: { containers: [{ name: 'app', image, command, ports }] } });
    await cluster.kubectl(['run', 'thief', `--image=${image}`, `--overrides=${overrides}`]);
    const answer = (at: number | string): Promise<string> =>
      fetch(`http://127.0.0.1:${at}/text`).then(
        (response) => response.text(),
        () => '',
      );
    await until('its other host port', async () => (await answer(other)) === 'of a pod');
    assert.notEqual(await answer(port), 'of a pod');
    const pulled = await keelson(['image', 'pull', image, '--data-dir', cluster.dataDir]);
    assert.equal(pulled.code, 0, pulled.stderr);
    await cluster.kubectl(['delete', 'pod', 'thief', '--now']);
  });

  test('a pod’s pull secret is used at a mirror of other names without credentials in the file', async () => {
    assert.equal((await configure(rewritten())).code, 0);
    assert.notEqual(
      (await keelson(['image', 'pull', 'hub.example.com/secret/app:1', '--data-dir', cluster.dataDir])).code,
      0,
    );
    const { username, password } = registryUser;
    const login = ['--docker-server=hub.example.com', `--docker-username=${username}`, `--docker-password=${password}`];
    await cluster.kubectl(['create', 'secret', 'docker-registry', 'login', ...login]);
    const overrides = '--overrides={"spec":{"imagePullSecrets":[{"name":"login"}]}}';
    await cluster.kubectl(['run', 'secret', '--image=hub.example.com/secret/app:1', overrides]);
    await cluster.kubectl(['wait', '--for=condition=Ready', 'pod/secret', '--timeout=60s']);
  });

  test('without the file the mirror is not used', async () => {
    rmSync(join(cluster.dataDir, 'registries.yaml'));
    await keelson(['down', '--data-dir', cluster.dataDir]);
    assert.equal((await keelson(['up', '--detach', '--data-dir', cluster.dataDir])).code, 0);
    assert.throws(() => statSync(join(cluster.dataDir, 'registries/images.example.com')), /ENOENT/);
  });
});
