/** Names, retention and the schedule of snapshots, under virtual time. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aborted } from '../../base/abort.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import { parseTime } from '../../api/time.ts';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import { listSnapshots, pruneSnapshots } from './snapshot-folder.ts';
import { baseNameProblem, createdMsOf, excessSnapshots, snapshotName } from './snapshot-names.ts';
import { type RemoteSnapshots, SnapshotSchedule } from './snapshot-schedule.ts';

const START_MS = parseTime('2026-01-31T23:58:30Z');
const series = { base: 'snapshot', nodeName: 'node-1' };

test('names contain the time; base names are valid names of files and keys', () => {
  const name = snapshotName(series, START_MS + 999);
  assert.equal(name, `snapshot-node-1-${START_MS / 1000}`);
  assert.equal(createdMsOf(name), START_MS);
  assert.equal(createdMsOf('my.db'), undefined);
  assert.equal(baseNameProblem('a.b_c-1'), undefined);
  for (const bad of ['', '../x', 'a/b', '-x', 'a b', 'x'.repeat(101)]) assert.notEqual(baseNameProblem(bad), undefined);
});

test('retention counts one base name and one node, however alike others begin', () => {
  const of = (base: string, nodeName: string, seconds: number) => ({
    name: `${base}-${nodeName}-${seconds}`,
    sizeBytes: 1,
    createdMs: seconds * 1000,
  });
  const own = [5, 1, 3].map((at) => of('snapshot', 'node', 1_700_000_000 + at));
  const others = [
    of('snapshot', 'node-2', 1_600_000_000),
    of('snap', 'shot-node', 1_600_000_001),
    of('snapshot-node', 'x', 1_600_000_002),
    { name: 'snapshot-node-notes', sizeBytes: 1, createdMs: 0 },
  ];
  const node = { base: 'snapshot', nodeName: 'node' };
  const excess = excessSnapshots([...others, ...own], node, { retention: 1, nowMs: START_MS });
  assert.deepEqual(
    excess.map(({ createdMs }) => createdMs % 1000_000),
    [3000, 1000],
  );
  assert.deepEqual(excessSnapshots(own, node, { retention: 0, nowMs: START_MS }), []);
});

test('a folder lists complete files only, and pruning keeps files of other series', async () => {
  const { files } = createSimPlatform();
  await files.makeDir('/s/folder');
  for (const name of ['snapshot-node-1-1700000001', 'snapshot-node-1-1700000002', 'mine.db'])
    await files.writeFile(`/s/${name}`, name);
  for (const name of ['snapshot-node-1-1700000003.0123456789abcdef.partial', 'mine.db-wal', 'mine.db-shm'])
    await files.writeFile(`/s/${name}`, name);
  const listed = (await listSnapshots(files, '/s')).map(({ name }) => name);
  assert.deepEqual(listed.toSorted(), ['mine.db', 'snapshot-node-1-1700000001', 'snapshot-node-1-1700000002']);
  assert.deepEqual(await pruneSnapshots(files, '/s', { series, retention: 1, nowMs: START_MS }), [
    'snapshot-node-1-1700000001',
  ]);
  assert.ok(await files.exists('/s/mine.db'));
  assert.deepEqual(await listSnapshots(files, '/absent'), []);
});

interface World {
  readonly platform: SimPlatform;
  readonly schedule: SnapshotSchedule;
  readonly events: string[];
  readonly names: () => Promise<string[]>;
  save: (path: string) => Promise<void>;
  stop(): Promise<void>;
}

function begin(
  schedule: string,
  overrides: {
    readonly timeZone?: string;
    readonly dir?: string;
    readonly remote?: (signal: AbortSignal) => Promise<RemoteSnapshots>;
  } = {},
): World {
  const platform = createSimPlatform({ startMs: START_MS });
  const events: string[] = [];
  const recorder: EventRecorder = {
    event: (target, type, reason, message) =>
      void events.push(`${type} ${reason} ${'name' in target ? target.name : ''} ${message}`),
  };
  const dir = overrides.dir ?? '/data/snapshots';
  const end = new AbortController();
  const world: World = {
    platform,
    events,
    save: (path) => platform.files.writeFile(path, 'state'),
    schedule: new SnapshotSchedule(
      { platform, recorder, save: (path) => world.save(path), remote: overrides.remote },
      {
        options: { schedule, timeZone: overrides.timeZone ?? 'UTC', retention: 2, name: 'snapshot' },
        dir,
        dataDir: '/data',
        nodeName: 'node-1',
      },
    ),
    names: async () => (await listSnapshots(platform.files, dir)).map(({ name }) => name),
    async stop() {
      end.abort();
      await running;
    },
  };
  const running = world.schedule.run(end.signal);
  return world;
}

const at = (time: string): string => `snapshot-node-1-${parseTime(`2026-02-01T${time}Z`) / 1000}`;

describe('a schedule', () => {
  test('saves when it is due and keeps the newest', async () => {
    const world = begin('*/5 * * * *');
    await world.platform.clock.advance(89_000);
    assert.deepEqual(await world.names(), []);
    assert.equal((await world.schedule.status()).nextTime, '2026-02-01T00:00:00Z');
    await world.platform.clock.advance(1_000);
    assert.deepEqual(await world.names(), [at('00:00:00')]);
    assert.equal((await world.platform.files.stat('/data/snapshots')).mode & 0o777, 0o700);
    await world.platform.clock.advance(600_000);
    assert.deepEqual(await world.names(), [at('00:10:00'), at('00:05:00')]);
    const { last, nextTime, failure } = await world.schedule.status();
    assert.deepEqual([last?.name, nextTime, failure], [at('00:10:00'), '2026-02-01T00:15:00Z', undefined]);
    assert.match(world.events[0] ?? '', /^Normal SnapshotCreated node-1 /);
    await world.stop();
    assert.equal(world.platform.clock.pendingTimers, 0);
  });

  test('is read in the time zone of the machine', async () => {
    const world = begin('0 1 * * *', { timeZone: 'Europe/Berlin' });
    await world.platform.clock.advance(90_000);
    assert.deepEqual(await world.names(), [at('00:00:00')]);
    await world.stop();
  });

  test('a failure is an event and in the status until a snapshot succeeds; older ones are kept', async () => {
    const world = begin('* * * * *');
    await world.platform.clock.advance(30_000);
    const { save } = world;
    world.save = async () => {
      throw new Error('no space left on device');
    };
    await world.platform.clock.advance(180_000);
    assert.equal((await world.names()).length, 1);
    assert.deepEqual((await world.schedule.status()).failure, {
      time: '2026-02-01T00:02:00Z',
      message: 'no space left on device',
    });
    assert.match(world.events.at(-1) ?? '', /^Warning SnapshotFailed node-1 .*no space left on device$/);
    world.save = save;
    await world.platform.clock.advance(60_000);
    assert.equal((await world.schedule.status()).failure, undefined);
    assert.equal((await world.names()).length, 2);
    await world.stop();
  });

  test('a folder of the user’s is not made: its disk may not be mounted', async () => {
    const world = begin('* * * * *', { dir: '/mnt/backup' });
    await world.platform.clock.advance(30_000);
    assert.match(
      (await world.schedule.status()).failure?.message ?? '',
      /^the folder of snapshots \/mnt\/backup is not there/,
    );
    assert.equal(await world.platform.files.exists('/mnt/backup'), false);
    await world.stop();
  });

  test('a time that passes while the machine sleeps is made up for once', async () => {
    const world = begin('0 * * * *');
    await world.platform.clock.advance(1_000);
    world.platform.clock.jumpWall(5 * 3_600_000);
    await world.platform.clock.advance(1_000);
    assert.equal(world.events.length, 1);
    await world.platform.clock.advance(3_600_000);
    assert.equal(world.events.length, 2);
    await world.stop();
  });

  test('a clock that is set back a year does not stop it for a year', async () => {
    const world = begin('0 * * * *');
    world.platform.clock.jumpWall(-365 * 86_400_000);
    await world.platform.clock.advance(3_600_000);
    assert.equal(world.events.length, 1);
    await world.stop();
  });

  test('snapshots of a clock that was ahead do not drive out those that are made since', async () => {
    const world = begin('*/5 * * * *');
    world.platform.clock.jumpWall(365 * 86_400_000);
    await world.platform.clock.advance(900_000);
    const ahead = await world.names();
    assert.equal(ahead.length, 2);
    world.platform.clock.jumpWall(-365 * 86_400_000);
    await world.platform.clock.advance(300_000);
    const kept = (await world.names()).filter((name) => !ahead.includes(name));
    assert.equal(kept.length, 1, 'the new one is kept');
    assert.equal((await world.schedule.status()).last?.name, kept[0]);
    await world.platform.clock.advance(600_000);
    assert.deepEqual(
      (await world.names()).filter((name) => ahead.includes(name)),
      [],
    );
    await world.stop();
  });

  test('a server that stops does not wait for a bucket that does not answer, and reports no failure', async () => {
    const remote = async (signal: AbortSignal): Promise<RemoteSnapshots> => ({
      async upload() {
        await aborted(signal);
        throw signal.reason;
      },
      prune: async () => [],
      locationOf: (name) => name,
    });
    const world = begin('* * * * *', { remote });
    await world.platform.clock.advance(30_000);
    await world.stop();
    assert.deepEqual(world.events, []);
    assert.equal((await world.schedule.status()).failure, undefined);
    assert.equal((await world.names()).length, 1);
  });

  test('the rest of a killed save is deleted by the next; that of another process stays', async () => {
    const world = begin('* * * * *');
    const { files } = world.platform;
    const left = '/data/snapshots/snapshot-node-1-1700000000.0123456789abcdef.partial';
    const foreign = '/data/snapshots/on-demand-node-1-1700000000.0123456789abcdef.partial';
    await files.makeDir('/data/snapshots');
    for (const path of [left, foreign]) await files.writeFile(path, 'half');
    await world.platform.clock.advance(30_000);
    assert.deepEqual([await files.exists(left), await files.exists(foreign)], [false, true]);
    await world.stop();
  });
});
