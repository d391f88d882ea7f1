/** Snapshots in S3, on a real S3 server: by the client, and by the command line. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { S3Bucket } from '../../src/cluster/snapshots/s3/s3-bucket.ts';
import type { S3Config } from '../../src/cluster/snapshots/s3/s3-options.ts';
import { createNodePlatform, type NodePlatform } from '../../src/platform/node/node-platform.ts';
import type { HttpCall } from '../../src/platform/net.ts';
import { kubectlProgram } from '../../tools/kubectl.ts';
import type { Running } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';
import { keelson, run, type Said } from './own-servers.ts';
import { startSimulated } from './simulated-server.ts';
import { S3_KEYS, startS3, withoutS3, type S3Server } from './s3-server-fixture.ts';

const skip = await withoutS3();
const BUCKET = 'backups';
const MIB = 1024 * 1024;

describe('a bucket', { skip }, () => {
  let server: S3Server;
  let folder: string;
  let platform: NodePlatform;
  const config = (overrides: Partial<S3Config> = {}): S3Config => ({
    endpoint: server.endpoint,
    region: 'us-east-1',
    bucket: BUCKET,
    folder: 'clusters/pröd (1)'.replace('ö', 'o'),
    bucketLookup: 'auto',
    skipSslVerify: false,
    insecure: true,
    credentials: { accessKeyId: S3_KEYS.accessKey, secretAccessKey: S3_KEYS.secretKey },
    timeoutMs: 30_000,
    ...overrides,
  });
  const bucket = (overrides?: Partial<S3Config>, net?: NodePlatform['net']): S3Bucket =>
    new S3Bucket(net === undefined ? platform : { ...platform, net }, config(overrides), 5 * MIB);
  const file = async (name: string, bytes: number): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, randomBytes(bytes));
    return path;
  };

  before(async () => {
    server = await startS3(BUCKET);
    folder = await mkdtemp(join(tmpdir(), 'keelson-s3-files-'));
    platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
  });
  after(async () => {
    platform.close();
    await rm(folder, { recursive: true });
    await server.stop();
  });

  for (const [what, bytes] of [
    ['an empty file', 0],
    ['a small one', 100_000],
    ['one of several parts', 12 * MIB + 7],
  ] as const)
    test(`${what} is downloaded unchanged, and listed with its size`, async () => {
      const name = `snapshot-a-17000000${String(bytes).length}0`;
      const path = await file('up', bytes);
      await bucket().upload(path, name);
      const listed = (await bucket().list()).find((each) => each.name === name);
      assert.equal(listed?.sizeBytes, bytes);
      const back = join(folder, `down-${name}`);
      await bucket().download(name, back);
      assert.ok((await readFile(back)).equals(await readFile(path)));
      assert.equal((await stat(back)).mode & 0o777, 0o600);
      await bucket().remove(name);
      assert.equal(
        (await bucket().list()).some((each) => each.name === name),
        false,
      );
    });

  test('virtual-host style is signed for its host', async () => {
    const hosts: string[] = [];
    // No name resolves to loopback here, so the connection is redirected; the request stays as it was signed.
    const net = {
      ...platform.net,
      http: (call: HttpCall) => {
        const { host, pathname, search } = new URL(call.url);
        hosts.push(host);
        return platform.net.http({
          ...call,
          url: `http://${server.endpoint}${pathname}${search}`,
          headers: { ...call.headers, host },
        });
      },
    };
    const virtual = bucket({ endpoint: 's3.amazonaws.com', bucketLookup: 'auto' }, net);
    await virtual.upload(await file('virtual', 1000), 'virtual-a-1700000001');
    assert.deepEqual([...new Set(hosts)], [`${BUCKET}.s3.amazonaws.com`]);
    assert.ok(
      (await bucket().list()).some(({ name }) => name === 'virtual-a-1700000001'),
      'the same bucket',
    );
  });

  test('more than a page is listed completely; pruning keeps the newest of one series', async () => {
    const path = await file('many', 10);
    const paged = bucket({ folder: 'many' });
    for (let at = 0; at < 12; at++) await paged.upload(path, `snapshot-a-17000000${10 + at}`);
    await paged.upload(path, 'snapshot-b-1700000001');
    assert.equal((await paged.list()).length, 13);
    const pruned = await paged.prune({ base: 'snapshot', nodeName: 'a' }, 2);
    assert.equal(pruned.length, 10);
    assert.deepEqual(
      (await paged.list()).map(({ name }) => name),
      ['snapshot-a-1700000021', 'snapshot-a-1700000020', 'snapshot-b-1700000001'],
    );
  });

  test('errors contain S3’s code, and neither key nor signature', async () => {
    const path = await file('refused', 10);
    const secret = 'very-secret-key';
    const wrong = bucket({ credentials: { accessKeyId: S3_KEYS.accessKey, secretAccessKey: secret } });
    await assert.rejects(wrong.upload(path, 'x'), (error: Error) => {
      assert.match(error.message, /^S3: uploading s3:\/\/backups\/.*: SignatureDoesNotMatch: /);
      assert.ok(!error.message.includes(secret) && !/Signature=|[0-9a-f]{64}/.test(error.message), error.message);
      return true;
    });
    await assert.rejects(bucket({ bucket: 'no-bucket' }).list(), /S3: listing s3:\/\/no-bucket\/.*: NoSuchBucket: /);
    await assert.rejects(bucket().download('none', join(folder, 'none')), /S3: fetching .*none: NoSuchKey: /);
    assert.equal((await readdir(folder)).includes('none'), false);
  });

  test('temporary failures are retried; an upload that fails for good leaves no parts', async () => {
    let failures = 0;
    const flaky = {
      ...platform.net,
      http: async (call: HttpCall) => {
        if (call.url.includes('partNumber=2') && failures++ < 2) throw new Error('read ECONNRESET');
        return platform.net.http(call);
      },
    };
    const path = await file('flaky', 6 * MIB);
    await bucket({}, flaky).upload(path, 'flaky-a-1700000001');
    assert.equal(failures, 3);
    const methods: string[] = [];
    const broken = {
      ...platform.net,
      http: async (call: HttpCall) => {
        methods.push(call.method);
        if (call.url.includes('partNumber=2')) throw new Error('read ECONNRESET');
        return platform.net.http(call);
      },
    };
    await assert.rejects(bucket({}, broken).upload(path, 'broken-a-1700000001'), /ECONNRESET/);
    assert.equal(methods.at(-1), 'DELETE', 'it was given up');
    assert.equal(
      (await bucket().list()).some(({ name }) => name.startsWith('broken')),
      false,
    );
  });
});

describe('keelson with a bucket', { skip }, () => {
  let server: S3Server;
  let folder: string;
  let dataDir: string;
  let running: Running | undefined;
  const secretKey = S3_KEYS.secretKey;
  const place = (): string[] => [
    ...['--s3', `--s3-endpoint=${server.endpoint}`, '--s3-insecure', `--s3-bucket=${BUCKET}`, '--s3-folder=dev'],
    `--s3-credentials-file=${folder}/credentials`,
  ];
  const snapshot = (...args: string[]): Promise<Said> => keelson(['snapshot', ...args, `--data-dir=${dataDir}`]);
  const locations = async (...args: string[]): Promise<string[]> => {
    const { stdout, stderr } = await snapshot('ls', '-o', 'json', ...args);
    assert.notEqual(stdout, '', stderr);
    return (JSON.parse(stdout) as { items: { location: string }[] }).items.map(({ location }) => location);
  };
  const up = async (...flags: string[]): Promise<void> => {
    running = await startSimulated(dataDir, { flags });
  };
  const down = async (): Promise<void> => {
    running?.kill();
    await running?.ended();
  };
  const kubectl = (...args: string[]): Promise<Said> =>
    run(kubectlProgram(), [`--kubeconfig=${dataDir}/admin.kubeconfig`, `--cache-dir=${folder}/cache`, ...args]);

  before(async () => {
    server = await startS3(BUCKET);
    folder = await mkdtemp(join(tmpdir(), 'keelson-s3-cli-'));
    dataDir = join(folder, 'data');
    const credentials = `[default]\naws_access_key_id = ${S3_KEYS.accessKey}\naws_secret_access_key = ${secretKey}\n`;
    await writeFile(join(folder, 'credentials'), credentials, { mode: 0o600 });
  });
  after(async () => {
    await down();
    await server.stop();
    await rm(folder, { recursive: true });
  });

  test('a schedule keeps the newest in the bucket; an unreachable S3 server is a temporary failure', async () => {
    await up('--snapshot-schedule-cron=@every 1s', '--snapshot-retention=3', '--s3-retention=2', ...place());
    await until('two in the bucket, others before are gone', async () => {
      const found = (await locations(...place())).filter((each) => each.startsWith('s3://backups/dev/snapshot-'));
      assert.ok(found.length <= 3);
      const { stdout } = await kubectl(
        'get',
        'events',
        '-o',
        'jsonpath={.items[?(@.reason=="SnapshotCreated")].count}',
      );
      return found.length === 2 && Number(stdout.split(' ').pop()) > 3;
    });
    await rm(server.folder, { recursive: true });
    await until('it stands in the status', async () =>
      /the last attempt failed at .*S3: /.test((await keelson(['status', `--data-dir=${dataDir}`])).stdout),
    );
    const said = `${running?.stdout()}${running?.stderr()}`;
    assert.ok(!/Signature=|AWS4-HMAC/.test(said), said);
    await down();
    await server.stop();
    server = await startS3(BUCKET);
  });

  test('save, ls, verify, restore and delete use the bucket; flags may come from the server’s file', async () => {
    const config = join(folder, 'config.yaml');
    const text = place().map((flag) => flag.slice(2).replace('=', ': '));
    await writeFile(
      config,
      `https-port: 7443\n${text.map((line) => (line.includes(':') ? line : `${line}: true`)).join('\n')}\n`,
    );
    const saved = await snapshot('save', `--config=${config}`);
    assert.match(saved.stdout, /\nuploaded it to s3:\/\/backups\/dev\/on-demand-/, saved.stderr);
    const [location = ''] = (await locations(`--config=${config}`)).filter((each) => each.startsWith('s3:'));
    const name = location.split('/').pop()!;
    assert.equal((await snapshot('delete', name)).stdout, `removed ${name}\n`);
    const verified = await keelson(['snapshot', 'verify', name, ...place()]);
    assert.match(verified.stdout, /^✓ /, verified.stderr);
    const restored = await snapshot('restore', name, ...place());
    assert.match(restored.stdout, /^restored \d+ objects/, restored.stderr);
    const removed = await snapshot('delete', name, ...place());
    assert.equal(removed.stdout, `removed ${location}\n`, removed.stderr);
  });

  test('a Secret of the cluster may contain all settings', async () => {
    await up();
    const literals = [
      ...[
        `etcd-s3-endpoint=${server.endpoint}`,
        `etcd-s3-bucket=${BUCKET}`,
        'etcd-s3-folder=secret',
        'etcd-s3-insecure=true',
      ],
      ...[`etcd-s3-access-key=${S3_KEYS.accessKey}`, `etcd-s3-secret-key=${secretKey}`],
    ].map((each) => `--from-literal=${each}`);
    const early = await snapshot('save', '--s3', '--s3-config-secret=s3');
    assert.match(early.stderr, /^keelson: S3: the Secret kube-system\/s3: it is not there\n$/);
    assert.equal((await kubectl('-n', 'kube-system', 'create', 'secret', 'generic', 's3', ...literals)).code, 0);
    const saved = await snapshot('save', '--s3', '--s3-config-secret=s3');
    assert.match(saved.stdout, /uploaded it to s3:\/\/backups\/secret\/on-demand-/, saved.stderr);
    await down();
  });

  test('invalid flags give one line', async () => {
    const cases: readonly [readonly string[], RegExp][] = [
      [['ls', '--s3'], /--s3: --s3-bucket or --s3-config-secret is needed/],
      [['ls', '--s3-bucket=backups'], /--s3-bucket: only with --s3/],
      [['ls', '--s3', '--s3-bucket=A_B'], /--s3-bucket: A_B is no name of a bucket/],
      [
        ['ls', '--s3', '--s3-bucket=abc', '--s3-endpoint=https://x'],
        /--s3-endpoint: https:\/\/x is not host or host:port/,
      ],
      [['ls', '--s3', '--s3-bucket=abc', '--s3-folder=../x'], /--s3-folder: \.\.\/x is no folder/],
      [['ls', '--s3', '--s3-bucket=abc', '--s3-access-key=a'], /--s3-access-key and --s3-secret-key go together/],
      [['ls', '--s3', '--s3-bucket=abc', '--s3-timeout=soon'], /--s3-timeout: soon is not a duration/],
      [['ls', '--s3', '--s3-bucket=abc'], /S3: no credentials/],
      [['ls', '--s3', '--s3-bucket=abc', '--s3-credentials-file=/none'], /--s3-credentials-file: .*no such file/],
    ];
    for (const [args, message] of cases) {
      const { code, stderr } = await snapshot(...args);
      assert.match(stderr, message);
      assert.deepEqual([code === 0, stderr.trim().split('\n').length], [false, 1], stderr);
    }
    const installed = await keelson(['install', 'server', '--dry-run', '--s3-secret-key=x', `--data-dir=${folder}/i`]);
    assert.match(installed.stderr, /--s3-secret-key: .*--s3-credentials-file|--s3-access-key and --s3-secret-key/);
  });
});
