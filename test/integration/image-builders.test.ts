/** `keelson image build` and `load` with real engines: a dockerd of the test's own, and podman with a storage of its own. */
import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { keelson, startCluster, type TestCluster } from './cluster-fixture.ts';
import { run, start, type Outcome, type Running } from './fixtures/programs.ts';
import { until } from './fixtures/until.ts';

const BUSYBOX = '/bin/busybox';

/** Why the engine cannot be tried; false where it can. */
function missing(...programs: readonly string[]): string | false {
  const folders = (process.env['PATH'] ?? '').split(':');
  const absent = programs.filter((program) => !folders.some((folder) => existsSync(join(folder, program))));
  if (absent.length > 0) return `${absent.join(' and ')}: not installed`;
  return existsSync(BUSYBOX) ? false : 'busybox is not installed';
}

describe('engines of images', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'keelson-builders-'));
  const context = join(scratch, 'context');
  let port: number;
  let cluster: TestCluster;

  before(async () => {
    mkdirSync(context);
    copyFileSync(BUSYBOX, join(context, 'busybox'));
    chmodSync(join(context, 'busybox'), 0o755);
    const lines = ['FROM scratch', 'ARG WORD', 'COPY busybox /bin/busybox', 'ENV PATH=/bin WORD=$WORD'];
    writeFileSync(join(context, 'Dockerfile'), [...lines, 'CMD ["busybox", "sleep", "1000"]', ''].join('\n'));
    if (missing('dockerd', 'docker') !== false && missing('podman') !== false) return;
    port = await freePort('127.0.0.1');
    cluster = await startCluster({ images: false, flags: ['--registry', String(port)] });
  });
  after(async () => {
    await cluster?.stop();
    rmSync(scratch, { recursive: true, force: true });
  });

  const image = (env: NodeJS.ProcessEnv, ...args: string[]): Promise<Outcome> =>
    keelson(['image', ...args, '--data-dir', cluster.dataDir], { env: { ...process.env, ...env } });
  /** Builds `tag` and runs a pod of it; resolves to what the build set in its environment. */
  const buildAndRun = async (env: NodeJS.ProcessEnv, builder: string, tag: string): Promise<string> => {
    const built = await image(env, 'build', '--builder', builder, '-t', tag, '--build-arg', `WORD=${builder}`, context);
    assert.equal(built.code, 0, built.stderr);
    assert.match(built.stdout, new RegExp(`^loaded docker.io/library/${tag} `, 'm'));
    return word(builder, tag);
  };
  const word = async (pod: string, name: string): Promise<string> => {
    await cluster.kubectl(['run', pod, `--image=${name}`]);
    await cluster.kubectl(['wait', '--for=condition=Ready', `pod/${pod}`, '--timeout=60s']);
    return cluster.kubectl(['exec', pod, '--', 'busybox', 'sh', '-c', 'echo $WORD']);
  };

  describe('Docker', { skip: missing('dockerd', 'docker') }, () => {
    const socket = join(scratch, 'docker.sock');
    const env = { DOCKER_HOST: `unix://${socket}`, DOCKER_BUILDKIT: '0' };
    const docker = (...args: string[]): Promise<Outcome> => run('docker', args, { env: { ...process.env, ...env } });
    let daemon: Running;

    before(async () => {
      const folders = [...['--data-root', join(scratch, 'docker')], ...['--exec-root', join(scratch, 'docker-run')]];
      const network = [
        '--bridge=none',
        '--iptables=false',
        '--ip6tables=false',
        '--ip-forward=false',
        '--ip-masq=false',
      ];
      const args = ['-H', `unix://${socket}`, '-p', join(scratch, 'docker.pid'), '--storage-driver=vfs', ...folders];
      daemon = start('unshare', ['-m', 'dockerd', ...args, ...network]);
      await until('dockerd to answer', async () => (await docker('info')).code === 0);
    });
    after(async () => {
      daemon?.kill();
      await daemon?.ended();
    });

    test('builds an image that a pod runs', async () => {
      assert.equal(await buildAndRun(env, 'docker', 'built:1'), 'docker\n');
    });

    test('its images are loaded, and those it lacks are named', async () => {
      const { stdout, stderr } = await image(env, 'load', 'docker:built:1');
      assert.match(stdout, /^loaded docker.io\/library\/built:1 \(0\.0 of /, stderr);
      assert.match((await image(env, 'load', 'docker:none:1')).stderr, /docker:none:1: docker has no such image/);
    });

    test('pushes to the registry, from where a pod runs the image', async () => {
      const name = `localhost:${port}/team/built:2`;
      for (const args of [
        ['tag', 'built:1', name],
        ['push', name],
      ])
        assert.deepEqual([(await docker(...args)).code, args], [0, args]);
      assert.equal(await word('pushed', name), 'docker\n');
    });
  });

  describe('Podman', { skip: missing('podman') }, () => {
    const storage = join(scratch, 'storage.conf');
    const env = { CONTAINERS_STORAGE_CONF: storage, CONTAINER_HOST: undefined };

    before(() => {
      const [graph, state] = [join(scratch, 'podman'), join(scratch, 'podman-run')];
      writeFileSync(storage, `[storage]\ndriver = "vfs"\ngraphroot = "${graph}"\nrunroot = "${state}"\n`);
    });

    test('builds an image that a pod runs by the name it was given', async () => {
      assert.equal(await buildAndRun(env, 'podman', 'pod:1'), 'podman\n');
    });

    test('its images are loaded, by its program and over its socket', async () => {
      const loaded = /^loaded docker.io\/library\/pod:1 \(0\.0 of /;
      const byProgram = await image(env, 'load', 'podman:pod:1');
      assert.match(byProgram.stdout, loaded, byProgram.stderr);
      const socket = join(scratch, 'podman.sock');
      const args = ['system', 'service', '--time=0', `unix://${socket}`];
      const service = start('podman', args, { env: { ...process.env, ...env } });
      try {
        await until('the socket of podman', () => Promise.resolve(existsSync(socket)));
        const overSocket = { ...env, CONTAINER_HOST: `unix://${socket}` };
        const { stdout, stderr } = await image(overSocket, 'load', 'podman:pod:1');
        assert.match(stdout, loaded, stderr);
        assert.match((await image(overSocket, 'load', 'podman:none:1')).stderr, /podman has no such image/);
      } finally {
        service.kill();
        await service.ended();
      }
    });
  });
});
