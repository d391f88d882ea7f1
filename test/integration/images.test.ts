/**
 * Images without a registry: `keelson image` and the image folder, on a real cluster, with archives as various tools write them.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { baseFiles } from '../../tools/demo-image.ts';
import { buildImage } from '../../tools/image-archive.ts';
import { withFolders, writeTar } from '../../tools/tar.ts';
import { keelson, startCluster, type TestCluster } from './cluster-fixture.ts';
import { keelsonProgram, run, type Outcome } from './fixtures/programs.ts';
import { until } from './fixtures/until.ts';

const scratch = mkdtempSync(join(tmpdir(), 'keelson-image-test-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

/** An archive in the old format of `docker save`. */
const dockerArchive = (name: string): Buffer =>
  buildImage({ name, files: baseFiles(), command: ['sleep', '1000'], environment: { NAME: name } }).archive;

interface Platform {
  readonly architecture: string;
  readonly whole: boolean;
}

/** An OCI layout as BuildKit writes it: an index of platforms, whose annotation contains the image's name. */
function ociArchive(name: string | undefined, platforms: readonly Platform[]): Buffer {
  const blobs = new Map<string, Buffer>();
  const put = (
    content: Buffer,
    mediaType: string,
    keep = true,
  ): { mediaType: string; digest: string; size: number } => {
    const hex = createHash('sha256').update(content).digest('hex');
    if (keep) blobs.set(hex, content);
    return { mediaType, digest: `sha256:${hex}`, size: content.length };
  };
  const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
  const oci = 'application/vnd.oci.image';
  const manifests = platforms.map(({ architecture, whole }) => {
    const tar = writeTar(withFolders([...baseFiles(), { path: 'arch', kind: 'file', content: architecture }]));
    const layer = put(gzipSync(tar), `${oci}.layer.v1.tar+gzip`, whole);
    const rootfs = { type: 'layers', diff_ids: [`sha256:${createHash('sha256').update(tar).digest('hex')}`] };
    const config = put(
      json({ architecture, os: 'linux', rootfs, config: { Cmd: ['cat', '/arch'] } }),
      `${oci}.config.v1+json`,
      whole,
    );
    const manifest = put(
      json({ schemaVersion: 2, mediaType: `${oci}.manifest.v1+json`, config, layers: [layer] }),
      `${oci}.manifest.v1+json`,
      whole,
    );
    return { ...manifest, platform: { architecture, os: 'linux' } };
  });
  const index = put(json({ schemaVersion: 2, mediaType: `${oci}.index.v1+json`, manifests }), `${oci}.index.v1+json`);
  const annotations = name === undefined ? {} : { 'io.containerd.image.name': name };
  return writeTar([
    { path: 'oci-layout', kind: 'file', content: '{"imageLayoutVersion":"1.0.0"}' },
    { path: 'index.json', kind: 'file', content: json({ schemaVersion: 2, manifests: [{ ...index, annotations }] }) },
    ...[...blobs].map(([hex, content]) => ({ path: `blobs/sha256/${hex}`, kind: 'file' as const, content })),
  ]);
}

const own = process.arch === 'x64' ? 'amd64' : 'arm64';
const other = own === 'amd64' ? 'arm64' : 'amd64';

function file(name: string, content: Uint8Array): string {
  const path = join(scratch, name);
  writeFileSync(path, content);
  return path;
}

describe('keelson image', () => {
  let cluster: TestCluster;
  const image = (...args: string[]): Promise<Outcome> => keelson(['image', ...args, '--data-dir', cluster.dataDir]);
  const loaded = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await image('load', ...args);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const listed = async (): Promise<string> => (await image('ls')).stdout;
  /** Runs a pod of the image with the default pull policy of its tag; resolves to its log. */
  const runs = async (pod: string, name: string): Promise<{ readonly log: string }> => {
    await cluster.kubectl(['run', pod, `--image=${name}`, '--restart=Never']);
    return cluster.until(`${pod} has run`, async () => {
      const phase = await cluster.kubectl(['get', 'pod', pod, '-o', 'jsonpath={.status.phase}']);
      assert.notEqual(phase, 'Failed');
      return phase === 'Succeeded' || phase === 'Running' ? { log: await cluster.kubectl(['logs', pod]) } : undefined;
    });
  };

  before(async () => {
    cluster = await startCluster({ images: false });
  });
  after(() => cluster.stop());

  for (const [kind, pack] of [
    ['plain', (data: Buffer) => data],
    ['gzip', gzipSync],
    ['zstd', zstdCompressSync],
  ] as const)
    test(`an archive of Docker, ${kind}: a pod runs the image under its short name`, async () => {
      assert.match(
        await loaded(file(`${kind}.tar`, pack(dockerArchive(`app:${kind}`)))),
        new RegExp(`^loaded docker.io/library/app:${kind} `),
      );
      await runs(`pod-${kind}`, `app:${kind}`);
    });

  test('an archive for several platforms that contains only the layers of this one', async () => {
    await loaded(
      file(
        'multi.tar',
        ociArchive('docker.io/library/multi:1', [
          { architecture: other, whole: false },
          { architecture: own, whole: true },
        ]),
      ),
    );
    assert.equal((await runs('multi', 'multi:1')).log, own);
  });

  test('an archive without the platform of this machine is refused with a list of its platforms', async () => {
    const path = file(
      'foreign.tar',
      ociArchive('docker.io/library/foreign:1', [
        { architecture: other, whole: true },
        { architecture: own, whole: false },
      ]),
    );
    const { code, stderr } = await image('load', path);
    assert.deepEqual(
      [code, stderr.includes(`foreign:1 is not whole for linux/${own}; it is there for linux/${other}`)],
      [1, true],
      stderr,
    );
    assert.doesNotMatch(await listed(), /foreign/);
  });

  test('an archive without a name needs a name on the command line, and is refused otherwise', async () => {
    const path = file('nameless.tar', ociArchive(undefined, [{ architecture: own, whole: true }]));
    assert.match((await image('load', path)).stderr, /it does not name its image: give one \(--image NAME:TAG\)/);
    assert.match(await loaded(path, '--image', 'named:1'), /^loaded docker.io\/library\/named:1 /);
  });

  test('blobs that exist are not written again', async () => {
    assert.match(await loaded(join(scratch, 'plain.tar')), /\(0\.0 of [\d.]+ MB new/);
  });

  test('from standard input, and from the socket of Docker', async () => {
    const args = [keelsonProgram, 'image', 'load', '-', '--data-dir', cluster.dataDir];
    const piped = await run('sh', ['-c', `cat ${join(scratch, 'plain.tar')} | "$0" "$@"`, process.execPath, ...args]);
    assert.match(piped.stdout, /^loaded docker.io\/library\/app:plain /, piped.stderr);
    const docker = await engine(join(scratch, 'docker.sock'), { 'web:2': dockerArchive('web:2') });
    try {
      const env = { ...process.env, DOCKER_HOST: `unix://${scratch}/docker.sock` };
      const load = (name: string): Promise<Outcome> =>
        keelson(['image', 'load', `docker:${name}`, '--data-dir', cluster.dataDir], { env });
      assert.match((await load('web:2')).stdout, /^loaded docker.io\/library\/web:2 /);
      const missing = await load('nope:1');
      assert.deepEqual([missing.code, missing.stderr], [1, 'keelson: docker:nope:1: docker has no such image\n']);
    } finally {
      docker.close();
    }
  });

  test('a file that is no archive, a damaged archive and a missing file leave nothing and print one line', async () => {
    const plain = dockerArchive('broken:1');
    for (const [name, content, says] of [
      ['text.tar', Buffer.from('no archive '.repeat(100)), /text\.tar: it is no tar archive/],
      ['cut.tar', plain.subarray(0, plain.length - 20_000), /cut\.tar: it is cut short/],
      ['cut.tar.gz', gzipSync(plain).subarray(0, 5000), /cut\.tar\.gz: it (cannot be decompressed|is cut short)/],
      ['empty.tar', Buffer.alloc(1024), /empty\.tar: it holds neither index.json nor manifest.json/],
    ] as const) {
      const { code, stderr } = await image('load', file(name, content));
      assert.deepEqual([code, says.test(stderr), stderr.split('\n').length], [1, true, 2], stderr);
    }
    assert.match((await image('load', join(scratch, 'nowhere.tar'))).stderr, /nowhere\.tar: ENOENT/);
    assert.doesNotMatch(await listed(), /broken/);
  });

  test('rm removes all names of an image; prune keeps the images of containers', async () => {
    assert.match(await listed(), /docker.io\/library\/named:1 +[0-9a-f]{12} +[\d.]+ MB/);
    assert.equal((await image('rm', 'named:1')).code, 0);
    assert.doesNotMatch(await listed(), /named:1/);
    assert.match((await image('rm', 'named:1')).stderr, /no such image: named:1/);
    assert.match((await image('prune')).stdout, /removed docker.io\/library\/web:2/);
    assert.match(await listed(), /app:plain/);
    assert.match(await listed(), /pause/);
  });

  test('build reports what is missing on a machine without a builder', async () => {
    const env = { ...process.env, PATH: scratch, DOCKER_HOST: undefined };
    const { code, stderr } = await run(
      process.execPath,
      [keelsonProgram, 'image', 'build', '-t', 'x:1', '--data-dir', cluster.dataDir],
      { env },
    );
    assert.deepEqual(
      [code, /no builder on this machine: install one of buildctl, docker, podman/.test(stderr)],
      [1, true],
      stderr,
    );
  });

  test('archives in the folder are loaded when they are added, and when the cluster starts', async () => {
    writeFileSync(join(cluster.dataDir, 'images/air.tar.zst'), zstdCompressSync(dockerArchive('air:1')));
    await until('the image is there', async () => (await listed()).includes('library/air:1'));
    await runs('air', 'air:1');
    await keelson(['down', '--data-dir', cluster.dataDir]);
    writeFileSync(join(cluster.dataDir, 'images/gap.tar'), dockerArchive('gap:1'));
    writeFileSync(join(cluster.dataDir, 'images/wrong.tar'), 'no archive');
    await cluster.up();
    assert.match(await listed(), /library\/gap:1/);
  });
});

/** A server that answers `docker save` at a socket, as Docker does. */
async function engine(socketPath: string, images: Readonly<Record<string, Buffer>>): Promise<Server> {
  const server = createServer((request, response) => {
    const name = decodeURIComponent(/^\/v1\.40\/images\/(.+)\/get$/.exec(request.url ?? '')?.[1] ?? '');
    const archive = images[name];
    response.writeHead(archive === undefined ? 404 : 200).end(archive);
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  return server;
}
