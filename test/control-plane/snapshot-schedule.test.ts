/** Scheduled snapshots, and the folder with them, by the command line. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { ClusterStatus } from '../../src/cluster/cluster-status.ts';
import { kubectlProgram } from '../../tools/kubectl.ts';
import type { Running } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';
import { keelson, run, type Said } from './own-servers.ts';
import { startSimulated } from './simulated-server.ts';

describe('snapshots by a schedule', () => {
  let folder: string;
  let dataDir: string;
  let running: Running | undefined;
  const up = async (...flags: string[]): Promise<void> => {
    running = await startSimulated(dataDir, { flags });
  };
  const status = async (): Promise<ClusterStatus | undefined> => {
    const { code, stdout } = await keelson(['status', `--data-dir=${dataDir}`, '--output=json']);
    return code === 0 ? (JSON.parse(stdout) as ClusterStatus) : undefined;
  };
  const down = async (): Promise<void> => {
    running?.kill();
    await running?.ended();
    running = undefined;
  };
  const snapshot = (...args: string[]): Promise<Said> => keelson(['snapshot', ...args, `--data-dir=${dataDir}`]);
  const kubectl = (...args: string[]): Promise<Said> =>
    run(kubectlProgram(), [`--kubeconfig=${dataDir}/admin.kubeconfig`, `--cache-dir=${folder}/cache`, ...args]);
  const names = async (): Promise<string[]> => {
    const { items } = JSON.parse((await snapshot('ls', '-o', 'json')).stdout) as { items: { name: string }[] };
    return items.map(({ name }) => name);
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keelson-schedule-'));
    dataDir = join(folder, 'data');
    await up('--snapshot-schedule-cron=@every 1s', '--snapshot-retention=2', '--snapshot-name=often');
  });
  after(async () => {
    await down();
    await rm(folder, { recursive: true });
  });

  test('they are created, the newest are kept, each is complete and readable only by its owner', async () => {
    assert.equal((await kubectl('create', 'configmap', 'kept')).code, 0);
    const first = await until('two snapshots', async () => {
      const found = await names();
      return found.length === 2 && found;
    });
    await until('others have taken their places', async () => {
      const found = await names();
      assert.ok(found.length <= 3, found.join());
      return !found.some((name) => first.includes(name));
    });
    const [newest = ''] = await names();
    assert.match(newest, /^often-.+-\d{10}$/);
    const dir = join(dataDir, 'snapshots');
    for (const name of (await readdir(dir)).filter((each) => !each.endsWith('.partial')))
      assert.equal((await stat(join(dir, name)).catch(() => ({ mode: 0o600 }))).mode & 0o777, 0o600);
    assert.equal((await stat(dir)).mode & 0o777, 0o700);
    const { snapshots } = (await status())!;
    assert.equal(snapshots?.schedule, '@every 1s');
    assert.match(snapshots?.last?.name ?? '', /^often-/);
    const events = await kubectl('get', 'events', '-o', 'jsonpath={.items[*].reason}');
    assert.match(events.stdout, /SnapshotCreated/);
  });

  test('a folder that cannot be written to causes an event and a status until it can', async () => {
    const dir = join(dataDir, 'snapshots');
    await rename(dir, `${dir}.away`);
    await writeFile(dir, '');
    const failing = await until('the failure is shown', async () => (await status())?.snapshots?.failure);
    assert.match(failing.message, /snapshots/);
    const screen = await keelson(['status', `--data-dir=${dataDir}`]);
    assert.match(screen.stdout, /^snapshots .*the last attempt failed at /m);
    await until('an event tells it', async () =>
      (await kubectl('get', 'events', '-o', 'jsonpath={.items[*].reason}')).stdout.includes('SnapshotFailed'),
    );
    await rm(dir);
    await until('it has recovered', async () => {
      const { snapshots } = (await status())!;
      return snapshots?.failure === undefined && snapshots?.last !== undefined;
    });
  });

  test('a scheduled snapshot restores the cluster', async () => {
    assert.equal((await kubectl('create', 'configmap', 'scheduled')).code, 0);
    const [before = ''] = await names();
    await until('a later one', async () => (await names())[0] !== before && (await names())[0]);
    await down();
    const [newest = ''] = await names();
    const restored = await snapshot('restore', join(dataDir, 'snapshots', newest));
    assert.match(restored.stdout, /^restored \d+ objects/, restored.stderr);
    await up();
    assert.equal((await kubectl('get', 'configmap', 'scheduled')).code, 0);
    assert.equal((await status())?.snapshots, undefined, 'without the flag there is no schedule');
  });

  test('save without a file, ls, prune and delete manage the folder', async () => {
    for (const name of await names()) assert.equal((await snapshot('delete', name)).code, 0);
    const saved = await snapshot('save');
    assert.match(saved.stdout, /^saved \d+ objects at revision \d+ to .*\/snapshots\/on-demand-.+-\d{10}\n$/);
    const table = await snapshot('ls');
    assert.match(table.stdout, /^NAME +LOCATION +SIZE +CREATED\non-demand-\S+ +file:\/\/\S+ +\d+ +20\S+Z\n$/);
    await until('a second one', async () => (await snapshot('save')).code === 0 && (await names()).length >= 2);
    const pruned = await snapshot('prune', '--snapshot-retention=1');
    assert.match(pruned.stdout, /^removed on-demand-/);
    assert.equal((await names()).length, 1);
    assert.equal((await snapshot('prune', '--snapshot-retention=1')).stdout, 'nothing to remove\n');
    const [last = ''] = await names();
    const refused = await snapshot('delete', last, 'none');
    assert.match(refused.stderr, /^keelson: there is no snapshot none in .*; nothing was removed\n$/);
    assert.deepEqual(await names(), [last]);
    assert.equal((await snapshot('delete', last)).stdout, `removed ${last}\n`);
    assert.match((await snapshot('ls')).stdout, /^no snapshots in /);
  });

  test('invalid flags give one line', async () => {
    const cases: readonly [readonly string[], RegExp][] = [
      [
        ['--snapshot-schedule-cron=61 * * * *'],
        /--snapshot-schedule-cron: "61 \* \* \* \*": end of range \(61\) above/,
      ],
      [['--snapshot-schedule-cron=0 0 31 2 *'], /it has no next time/],
      [['--snapshot-schedule-cron=@daily', '--store=memory'], /a store in memory has nothing to save/],
      [['--snapshot-schedule-cron=@daily', '--snapshot-retention=-1'], /-1 is not a number between/],
      [['--snapshot-schedule-cron=@daily', '--snapshot-name=../x'], /\.\.\/x is no base name/],
      [['--snapshot-retention=3'], /--snapshot-retention: only with --snapshot-schedule-cron/],
      [['--snapshot-dir='], /the name of a directory is missing/],
    ];
    for (const [flags, message] of cases) {
      const { code, stderr } = await keelson(['up', '--simulate', `--data-dir=${folder}/other`, ...flags]);
      assert.match(stderr, message);
      assert.deepEqual([code, stderr.trim().split('\n').length], [2, 1], stderr);
    }
    assert.match((await snapshot('prune', '--snapshot-retention=0')).stderr, /at least 1/);
    assert.match((await snapshot('delete', '../data/state.db')).stderr, /there is no snapshot/);
    const nowhere = await keelson(['snapshot', 'save', `--data-dir=${folder}/nowhere`]);
    assert.match(nowhere.stderr, /^keelson: there is no cluster in /);
  });
});
