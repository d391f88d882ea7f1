/**
 * The state moves from SQLite to a real etcd and back while writers and watchers run: no acknowledged write is lost, revisions
 * increase, and after a failure the old store stays in use.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isReason } from '../../src/api/status-error.ts';
import { ConfigMaps } from '../../src/api/gen/resources.ts';
import type { Client } from '../../src/client/client.ts';
import { createKubeconfigClient } from '../../src/client/kubeconfig.ts';
import { createNodePlatform, type NodePlatform } from '../../src/platform/node/node-platform.ts';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { startEtcd, withoutEtcd, type EtcdServer } from '../../src/storage/etcd/etcd-fixture.ts';
import { keelsonProgram, start, type Running } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';
import { keelson, type Said } from './own-servers.ts';

const NAMESPACE = 'default';
const WRITERS = 6;
const skip = process.getuid?.() === 0 ? withoutEtcd : 'a server needs root';

interface Load {
  stopped: boolean;
  /** The last acknowledged value of each object, with its revision. */
  readonly acked: Map<string, { readonly round: number; readonly revision: number }>;
  /** The longest time between two responses to one writer. */
  longestMs: number;
  problems: string[];
}

/** Increments an object's counter; a failed write may have taken effect, so the next round reads first. */
async function write(client: Client, writer: number, load: Load): Promise<void> {
  const maps = client.resource(ConfigMaps);
  const key = { name: `count-${writer}`, namespace: NAMESPACE };
  let lastMs = performance.now();
  for (let round = (load.acked.get(key.name)?.round ?? 0) + 1; !load.stopped; round++) {
    try {
      const data = { round: String(round) };
      const { metadata } = await maps.patch(key, { type: 'merge', patch: { data } });
      const revision = Number(metadata.resourceVersion);
      const before = load.acked.get(key.name);
      if (before !== undefined && revision <= before.revision)
        load.problems.push(`${key.name}: revision ${revision} after ${before.revision}`);
      load.acked.set(key.name, { round, revision });
      load.longestMs = Math.max(load.longestMs, performance.now() - lastMs);
      lastMs = performance.now();
    } catch (error) {
      if (isReason(error, 'NotFound')) load.problems.push(`${key.name} is gone`);
      await sleep(20);
    }
  }
}

/** Watches as informers do, and lists again when a watch cannot be resumed. Decreasing revisions and rounds are problems. */
async function watch(client: Client, load: Load, signal: AbortSignal): Promise<void> {
  const seen = new Map<string, number>();
  const look = (name: string, revision: number, round: number): void => {
    const before = seen.get(name) ?? 0;
    if (revision < before) load.problems.push(`the watch saw ${name} at ${revision} after ${before}, round ${round}`);
    seen.set(name, revision);
  };
  while (!signal.aborted) {
    try {
      const list = await client.resource(ConfigMaps).list({ namespace: NAMESPACE, signal });
      for (const { metadata, data } of list.items)
        look(metadata.name, Number(metadata.resourceVersion), Number(data?.['round']));
      const resourceVersion = list.metadata.resourceVersion;
      for await (const events of client.resource(ConfigMaps).watch({ namespace: NAMESPACE, resourceVersion, signal }))
        for (const { type, object } of events)
          if (type === 'ERROR') throw new Error('it lists anew');
          else if (type !== 'BOOKMARK')
            look(object.metadata.name, Number(object.metadata.resourceVersion), Number(object.data?.['round']));
    } catch {
      await sleep(20);
    }
  }
}

describe('keelson store migrate', { skip }, () => {
  let folder: string;
  let dataDir: string;
  let platform: NodePlatform;
  let etcd: EtcdServer;
  let running: Running | undefined;
  let port: number;
  const up = async (...flags: string[]): Promise<void> => {
    const own = ['--disable-agent', `--data-dir=${dataDir}`, `--https-port=${port}`, '--advertise-address=127.0.0.1'];
    running = start(process.execPath, [keelsonProgram, 'server', ...own, '--log-level=error', ...flags]);
    await until('it runs', async () =>
      (await keelson(['status', `--data-dir=${dataDir}`])).stdout.includes('apiserver ok'),
    );
  };
  const down = async (): Promise<void> => {
    running?.kill();
    await running?.ended();
    running = undefined;
  };
  const migrate = (...args: string[]): Promise<Said> => keelson(['store', 'migrate', `--data-dir=${dataDir}`, ...args]);
  const clientOf = (): Promise<Client> =>
    createKubeconfigClient({ ...platform, userAgent: 'migrate' }, join(dataDir, 'admin.kubeconfig'));
  const settings = async (): Promise<Record<string, string>> =>
    JSON.parse(await readFile(join(dataDir, 'settings.json'), 'utf8')) as Record<string, string>;
  const rounds = async (client: Client): Promise<Map<string, number>> => {
    const { items } = await client.resource(ConfigMaps).list({ namespace: NAMESPACE });
    return new Map(items.map(({ metadata, data }) => [metadata.name, Number(data?.['round'])]));
  };
  const ending: (() => void)[] = [];
  const load: Load = { stopped: false, acked: new Map(), longestMs: 0, problems: [] };
  /** Moves with running writers and a watcher, and checks that nothing was lost. */
  const moveUnderLoad = async (to: string): Promise<Said> => {
    const client = await clientOf();
    load.stopped = false;
    load.longestMs = 0;
    const end = new AbortController();
    ending.push(() => {
      load.stopped = true;
      end.abort();
    });
    const watching = watch(client, load, end.signal);
    const writing = Array.from({ length: WRITERS }, (_, writer) => write(client, writer, load));
    const atStart = Math.max(0, ...[...load.acked.values()].map(({ round }) => round));
    await until('they write', () =>
      Promise.resolve([...load.acked.values()].some(({ round }) => round > atStart + 20)),
    );
    const { revision } = load.acked.get('count-0')!;
    const moved = await migrate(`--to=${to}`);
    const after = Math.max(...[...load.acked.values()].map(({ round }) => round));
    await until('they write on', () => Promise.resolve([...load.acked.values()].every(({ round }) => round > after)));
    load.stopped = true;
    await Promise.all(writing);
    const found = await rounds(client);
    for (const [name, { round }] of load.acked)
      assert.ok((found.get(name) ?? -1) >= round, `${name}: ${found.get(name)} < ${round}`);
    assert.equal([...found.keys()].filter((name) => name.startsWith('many-')).length, 300);
    assert.deepEqual(load.problems, []);
    const old = client.resource(ConfigMaps).watch({ namespace: NAMESPACE, resourceVersion: String(revision) });
    for await (const [first] of old) {
      assert.ok(first !== undefined);
      assert.equal(first.type, 'ERROR', 'a watch from a revision of the old store is told to read anew');
      assert.equal((first.object as { code?: number }).code, 410);
      break;
    }
    end.abort();
    await watching;
    return moved;
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keelson-migrate-'));
    dataDir = join(folder, 'data');
    port = await freePort('0.0.0.0');
    platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
    etcd = await startEtcd();
    await up();
    const client = await clientOf();
    for (let count = 0; count < 300; count++)
      await client
        .resource(ConfigMaps)
        .create({ metadata: { name: `many-${count}`, namespace: NAMESPACE }, data: { round: '0' } });
    for (let writer = 0; writer < WRITERS; writer++)
      await client
        .resource(ConfigMaps)
        .create({ metadata: { name: `count-${writer}`, namespace: NAMESPACE }, data: { round: '0' } });
  });
  after(async () => {
    for (const stop of ending) stop();
    await down();
    await etcd.stop();
    platform.close();
    await rm(folder, { recursive: true });
  });

  test('an impossible move gives one line, and changes nothing', async () => {
    const before = await settings();
    for (const [args, message] of [
      [['--to=sqlite'], /the state is in sqlite already/],
      [['--to=memory'], /a store in memory would be gone/],
      [['--to=etcd=http://127.0.0.1:1'], /cannot open the store http:\/\/127\.0\.0\.1:1/],
      [['--to=disk'], /disk is none of sqlite/],
      [['--to=etcd=127.0.0.1:2379'], /is not a URL/],
    ] as const) {
      const refused = await migrate(...args);
      assert.match(refused.stderr, message);
      assert.notEqual(refused.code, 0);
      assert.equal(refused.stderr.trim().split('\n').length, 1, refused.stderr);
    }
    assert.deepEqual(await settings(), before);
  });

  test('an etcd that dies during the copy leaves SQLite in use; an etcd that survives is left empty', async () => {
    const dying = await startEtcd();
    const child = spawn(process.execPath, [
      keelsonProgram,
      'store',
      'migrate',
      `--data-dir=${dataDir}`,
      `--to=etcd=${dying.url}`,
    ]);
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const copying = new Promise<void>((resolve) =>
      child.stdout.on('data', (chunk: Buffer) => chunk.includes('counts up') && resolve()),
    );
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    await Promise.race([copying, ended]);
    await dying.kill('SIGKILL');
    assert.equal(await ended, 1);
    assert.match(said, /the old store is still the one in charge/);
    await dying.stop();
    const client = await clientOf();
    const patch = { type: 'merge', patch: { data: { round: '0' } } } as const;
    await client.resource(ConfigMaps).patch({ name: 'many-0', namespace: NAMESPACE }, patch);
    assert.notEqual((await settings())['store'], `etcd=${dying.url}`);
  });

  test('to etcd, under load', async (t) => {
    const moved = await moveUnderLoad(`etcd=${etcd.url}`);
    assert.match(moved.stdout, /objects are in the new store; revision \d+ is followed by \d+/, moved.stderr);
    assert.match(moved.stdout, /the cluster runs on the new store\n$/);
    t.diagnostic(`the longest time between two answers to a writer: ${Math.round(load.longestMs)} ms`);
    assert.equal((await settings())['store'], `etcd=${etcd.url}`);
    assert.match((await keelson(['store', 'status', `--data-dir=${dataDir}`])).stdout, /^store +etcd\n/);
    assert.ok((await readdir(dataDir)).includes('state.db.before-move-1'));
    const again = await migrate(`--to=etcd=${etcd.url}`);
    assert.match(again.stderr, /the state is in etcd already/);
  });

  test('a later start uses it', async () => {
    await down();
    await up();
    const found = await rounds(await clientOf());
    for (const [name, { round }] of load.acked) assert.ok(found.get(name)! >= round);
  });

  test('and back, under load', async (t) => {
    const moved = await moveUnderLoad('sqlite');
    assert.match(moved.stdout, /the cluster runs on the new store\n$/, moved.stderr);
    t.diagnostic(`the longest time between two answers to a writer: ${Math.round(load.longestMs)} ms`);
    assert.equal((await settings())['store'], 'sqlite');
    await down();
    await up();
    const found = await rounds(await clientOf());
    for (const [name, { round }] of load.acked) assert.ok(found.get(name)! >= round);
  });

  test('an etcd that already has a state is refused, and so is a store set on the command line', async () => {
    assert.match((await migrate(`--to=etcd=${etcd.url}`)).stderr, /has \d+ keys below \/registry\/: it must be empty/);
    await down();
    await up('--store=sqlite');
    assert.match((await migrate(`--to=etcd=${etcd.url}`)).stderr, /was started with --store/);
  });
});
