/**
 * Any moment can be restored exactly: writers run, the server is killed, and the restored state is compared with the writers'
 * records: it has every write acknowledged before the moment, and none that was sent after it.
 */
import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigMaps } from '../../src/api/gen/resources.ts';
import type { Client } from '../../src/client/client.ts';
import { createKubeconfigClient } from '../../src/client/kubeconfig.ts';
import type { ClusterStatus } from '../../src/cluster/cluster-status.ts';
import { createNodePlatform, type NodePlatform } from '../../src/platform/node/node-platform.ts';
import type { Running } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';
import { keelson, type Said } from './own-servers.ts';
import { S3_KEYS, startS3, withoutS3, type S3Server } from './s3-server-fixture.ts';
import { startSimulated } from './simulated-server.ts';
import { removeFolder } from './remove-folder.ts';

const NAMESPACE = 'default';
const WRITERS = 6;
const LOG = ['--snapshot-schedule-cron=@every 1h', '--snapshot-log', '--snapshot-log-interval=300ms'];
/** Two writes within one millisecond cannot be distinguished by time. */
const TICK_MS = 5;

/** An acknowledged write; without a value a deletion. */
interface Written {
  readonly name: string;
  readonly value: string | undefined;
  /** 0 for a deletion, whose revision is not returned. */
  readonly revision: number;
  readonly sentMs: number;
  readonly ackedMs: number;
}

interface Load {
  stopped: boolean;
  readonly written: Written[];
}

async function write(client: Client, writer: number, load: Load): Promise<void> {
  const maps = client.resource(ConfigMaps);
  const record = async (name: string, value: string | undefined, work: () => Promise<unknown>): Promise<void> => {
    const sentMs = Date.now();
    const answer = (await work()) as { metadata?: { resourceVersion?: string } };
    const revision = value === undefined ? 0 : Number(answer.metadata?.resourceVersion);
    load.written.push({ name, value, revision, sentMs, ackedMs: Date.now() });
  };
  try {
    for (let round = 0; !load.stopped; round++) {
      const stays = round % 5 === writer % 5;
      const key = { name: `w${writer}-${stays ? `s${round}` : round % 5}`, namespace: NAMESPACE };
      const value = `${writer}/${round}`;
      const object = { metadata: key, data: { value } };
      await record(key.name, value, () => maps.create(object));
      await record(key.name, `${value}+`, () => maps.update({ ...object, data: { value: `${value}+` } }));
      if (!stays) await record(key.name, undefined, () => maps.delete(key));
      await sleep(5);
    }
  } catch (error) {
    if (!load.stopped) throw error; // the server was killed during the write
  }
}

/** The expected objects of the writers at a moment; undefined for a write in progress, which may be included or not. */
function expectedAt(written: readonly Written[], atMs: number): Map<string, string | 'gone' | undefined> {
  const expected = new Map<string, string | 'gone' | undefined>();
  for (const { name, value, sentMs, ackedMs } of written) {
    if (ackedMs <= atMs) expected.set(name, value ?? 'gone');
    else if (sentMs <= atMs) expected.set(name, undefined);
  }
  return expected;
}

describe('any moment', () => {
  let folder: string;
  let dataDir: string;
  let platform: NodePlatform;
  let running: Running | undefined;
  const load: Load = { stopped: false, written: [] };
  const moments: number[] = [];
  const snapshot = (...args: string[]): Promise<Said> => keelson(['snapshot', ...args, `--data-dir=${dataDir}`]);
  const clientOf = (): Promise<Client> =>
    createKubeconfigClient({ ...platform, userAgent: 'moments' }, join(dataDir, 'admin.kubeconfig'));
  const status = async (): Promise<ClusterStatus> =>
    JSON.parse((await keelson(['status', `--data-dir=${dataDir}`, '--output=json'])).stdout) as ClusterStatus;
  const kill = async (): Promise<void> => {
    running?.kill('SIGKILL');
    await running?.ended();
    running = undefined;
  };
  /** The writers' objects as served by the restored cluster. */
  const served = async (): Promise<Map<string, { value: string; revision: number }>> => {
    const { items } = await (await clientOf()).resource(ConfigMaps).list({ namespace: NAMESPACE });
    const own = items.filter(({ metadata }) => /^w\d-s?\d+$/.test(metadata.name));
    return new Map(
      own.map(({ metadata, data }) => [
        metadata.name,
        { value: data?.['value'] ?? '', revision: Number(metadata.resourceVersion) },
      ]),
    );
  };
  const check = (found: Map<string, { value: string; revision: number }>, atMs: number): void => {
    const expected = expectedAt(load.written, atMs);
    assert.ok([...expected.values()].some((value) => value !== undefined && value !== 'gone') || expected.size > 5);
    for (const [name, value] of expected)
      if (value !== undefined) assert.equal(found.get(name)?.value ?? 'gone', value, `${name} at ${atMs}`);
    for (const [name, { value, revision }] of found) {
      assert.ok(expected.has(name), `${name} was written after ${atMs}`);
      const origin = load.written.find((each) => each.name === name && each.value === value);
      if (origin === undefined) continue; // its acknowledgement was lost with the kill
      assert.ok(origin.sentMs <= atMs, `${name}: ${value} was sent after ${atMs}`);
      assert.equal(revision, origin.revision, `${name} has its revision`);
    }
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keelson-moments-'));
    dataDir = join(folder, 'data');
    platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
    running = await startSimulated(dataDir, { flags: LOG });
    await until('the log has a snapshot to begin with', async () => (await status()).snapshots?.log?.range);
    const client = await clientOf();
    const writing = Array.from({ length: WRITERS }, (_, writer) => write(client, writer, load));
    for (let count = 1; count <= 3; count++) {
      await until('many writes', () => Promise.resolve(load.written.length >= count * 150));
      await sleep(TICK_MS);
      moments.push(Date.now());
      await sleep(TICK_MS);
    }
    await until('more writes', () => Promise.resolve(load.written.length >= 500));
    load.stopped = true;
    await kill();
    await Promise.all(writing);
  });
  after(async () => {
    await kill();
    platform.close();
    await removeFolder(folder, dataDir, join(folder, 'tail'));
  });

  test('ls shows the restorable moments, and verify builds one', async () => {
    const listed = await snapshot('ls');
    assert.match(
      listed.stdout,
      /\nLOG +ANY MOMENT FROM +TO +REVISIONS\nsnapshot-\S+-[0-9a-f]{16} +20\S+Z +20\S+Z +\d+-\d+\n/,
    );
    const verified = await snapshot('verify', `--at=${new Date(moments[0]!).toISOString()}`);
    assert.match(verified.stdout, /^✓ the state at 20\S+ is whole and can be restored: \d+ objects/, verified.stderr);
  });

  for (const index of [1, 0, 2])
    test(`moment ${index + 1} of three`, async () => {
      const atMs = moments[index]!;
      const restored = await snapshot('restore', `--at=${new Date(atMs).toISOString()}`);
      assert.match(
        restored.stdout,
        /^restored \d+ objects as of revision \d+ \(20\S+Z\), from snapshot-/,
        restored.stderr,
      );
      running = await startSimulated(dataDir, { flags: LOG });
      check(await served(), atMs);
      const { store } = await status();
      assert.ok((store?.revision ?? 0) > 1_000_000, 'revisions given out since are not given out again');
      await kill();
    });

  test('the last writes before the kill, which the log did not have yet', async () => {
    const other = join(folder, 'tail');
    await cp(dataDir, other, { recursive: true });
    const kept = (await readdir(dataDir)).filter((name) => /^state\.db\.before-restore-1(-wal|-shm)?$/.test(name));
    for (const name of kept)
      await cp(join(dataDir, name), join(other, name.replace('.before-restore-1', '')), { force: true });
    for (const suffix of ['-wal', '-shm'])
      if (!kept.includes(`state.db.before-restore-1${suffix}`))
        await rm(join(other, `state.db${suffix}`), { force: true });
    const revision = Math.max(...load.written.map((each) => each.revision));
    const restored = await keelson(['snapshot', 'restore', `--at=${revision}`, `--data-dir=${other}`]);
    assert.match(restored.stdout, new RegExp(`as of revision ${revision} `), restored.stderr);
  });

  test('a moment that cannot be restored gives one line', async () => {
    const cases: readonly [readonly string[], RegExp, number][] = [
      [
        ['restore', '--at=2020-01-01T00:00:00Z'],
        /that moment cannot be restored; what can: 20\S+ \(revision \d+\) to 20/,
        1,
      ],
      [['restore', '--at=2999-01-01T00:00:00Z'], /2999-01-01T00:00:00Z is yet to come/, 2],
      [['restore', '--at=tomorrow'], /tomorrow is no revision, no time/, 2],
      [['restore', 'file', '--at=latest'], /a snapshot or --at, not both/, 2],
      [['restore'], /a snapshot or --at is needed/, 2],
      [['restore', '--at=latest', '--snapshot-name=other'], /no log of changes is kept/, 1],
      [['restore', '--at=latest', '--store=etcd=http://127.0.0.1:1'], /only with SQLite/, 2],
    ];
    for (const [args, message, code] of cases) {
      const refused = await snapshot(...args);
      assert.match(refused.stderr, message);
      assert.deepEqual([refused.code, refused.stderr.trim().split('\n').length], [code, 1], refused.stderr);
    }
    for (const [flags, message] of [
      [['--snapshot-log'], /--snapshot-log: only with --snapshot-schedule-cron/],
      [[...LOG, '--store=etcd=http://127.0.0.1:1'], /--snapshot-log: only with SQLite/],
      [['--snapshot-schedule-cron=@daily', '--snapshot-log-size=1Gi'], /--snapshot-log-size: only with --snapshot-log/],
      [[...LOG, '--snapshot-log-size=1Mi'], /1Mi is not a size of 4Mi or more/],
    ] as const) {
      const refused = await keelson(['up', '--simulate', `--data-dir=${folder}/refused`, ...flags]);
      assert.match(refused.stderr, message);
      assert.deepEqual([refused.code, refused.stderr.trim().split('\n').length], [2, 1], refused.stderr);
    }
  });
});

describe('any moment, from a bucket', { skip: await withoutS3() }, () => {
  let server: S3Server;
  let folder: string;
  before(async () => {
    server = await startS3('backups');
    folder = await mkdtemp(join(tmpdir(), 'keelson-moments-s3-'));
  });
  after(async () => {
    await server.stop();
    await removeFolder(folder, join(folder, 'lost'), join(folder, 'made'));
  });

  test('a lost machine is restored to its last upload', async () => {
    const s3 = ['--s3', '--s3-bucket=backups', `--s3-endpoint=${server.endpoint}`, '--s3-insecure'];
    const keys = [`--s3-access-key=${S3_KEYS.accessKey}`, `--s3-secret-key=${S3_KEYS.secretKey}`];
    const [lost, made] = [join(folder, 'lost'), join(folder, 'made')];
    const platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
    const running = await startSimulated(lost, { flags: [...LOG, ...s3, ...keys] });
    const client = await createKubeconfigClient({ ...platform, userAgent: 'moments' }, join(lost, 'admin.kubeconfig'));
    const { metadata } = await client
      .resource(ConfigMaps)
      .create({ metadata: { name: 'kept', namespace: NAMESPACE }, data: { value: 'x' } });
    const ls = async (): Promise<{ ranges: { toRevision: number }[] }> =>
      JSON.parse((await keelson(['snapshot', 'ls', '-o', 'json', `--data-dir=${made}`, ...s3, ...keys])).stdout) as {
        ranges: { toRevision: number }[];
      };
    await until('the bucket has it', async () =>
      (await ls()).ranges.some(({ toRevision }) => toRevision >= Number(metadata.resourceVersion)),
    );
    running.kill('SIGKILL');
    await running.ended();
    await cp(lost, made, { recursive: true, filter: (path) => !/state\.db|snapshots|history/.test(path) });
    await rm(lost, { recursive: true });
    const restored = await keelson(['snapshot', 'restore', '--at=latest', `--data-dir=${made}`, ...s3, ...keys]);
    assert.match(restored.stdout, /^restored \d+ objects as of revision/, restored.stderr);
    const again = await startSimulated(made);
    try {
      const other = await createKubeconfigClient({ ...platform, userAgent: 'moments' }, join(made, 'admin.kubeconfig'));
      const kept = await other.resource(ConfigMaps).get({ name: 'kept', namespace: NAMESPACE });
      assert.equal(kept.metadata.resourceVersion, metadata.resourceVersion);
    } finally {
      again.kill('SIGKILL');
      await again.ended();
      platform.close();
    }
  });
});
