/** Names, ranges, and the keeper over a real store, with files and time that are simulated. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { onAbort } from '../../../base/abort.ts';
import { createSimPlatform } from '../../../platform/sim/sim-platform.ts';
import { createSqliteStore } from '../../../storage/sqlite/sqlite-store.ts';
import { listLogFiles, listLogs } from './log-folder.ts';
import { LogKeeper } from './log-keeper.ts';
import type { LogBucket } from './log-remote.ts';
import { excessSegments, isLogOf, logFolderName, logPathTo, logRanges, readLogContent } from './log-names.ts';

const file = (name: string, sizeBytes = 10) => ({ name, sizeBytes });

describe('the files of a log', () => {
  const names = [
    ...['1-5-100-200.log.gz', '1-9-100-300.log.gz', '9-20-310-400.log.gz', '30-40-600-700.log.gz'],
    ...['4-150-one.base', '35-650-two.base', '2-110-gone.base', 'other'],
  ];
  const content = readLogContent(
    names.map((name) => file(name)),
    new Set(['one', 'two']),
  );

  test('replaced segments, bases without a snapshot and segments before the first are useless', () => {
    assert.deepEqual(
      content.segments.map(({ name }) => name),
      [names[1], names[2], names[3]],
    );
    assert.deepEqual(content.useless.toSorted(), ['1-5-100-200.log.gz', '2-110-gone.base']);
    const later = readLogContent(
      names.map((name) => file(name)),
      new Set(['two']),
    );
    assert.deepEqual(
      later.segments.map(({ to }) => to),
      [40],
    );
  });

  test('a snapshot that was made again under its name is where it was made last', () => {
    const { bases, useless } = readLogContent(
      [...names, '7-150-one.base'].map((name) => file(name)),
      new Set(['one']),
    );
    assert.deepEqual(
      bases.map(({ revision }) => revision),
      [7],
    );
    assert.ok(useless.includes('4-150-one.base'));
  });

  test('ranges end at gaps', () => {
    assert.deepEqual(logRanges(content), [
      { fromRevision: 4, fromMs: 150, toRevision: 20, toMs: 400 },
      { fromRevision: 35, fromMs: 650, toRevision: 40, toMs: 700 },
    ]);
  });

  test('a moment is restored from the nearest snapshot before it, and only with a log without gaps', () => {
    const path = (end: Parameters<typeof logPathTo>[1], lastRevision?: number, from = content) => {
      const found = logPathTo(from, end, lastRevision);
      return found && [found.base.snapshot, ...found.segments.map(({ to }) => to)];
    };
    assert.deepEqual(path({ revision: 4 }), ['one']);
    assert.deepEqual(path({ revision: 9 }), ['one', 9]);
    assert.deepEqual(path({ revision: 10 }), ['one', 9, 20]);
    assert.deepEqual(path({ revision: 21 }), undefined);
    assert.deepEqual(path({ revision: 40 }), ['two', 40]);
    assert.deepEqual(path({ timeMs: 149 }), undefined);
    assert.deepEqual(path({ timeMs: 350 }), ['one', 9, 20]);
    assert.deepEqual(path({ timeMs: 400 }), undefined, 'another commit of that millisecond may follow');
    assert.deepEqual(path({ timeMs: 700 }), undefined);
    assert.deepEqual(path({ timeMs: 700 }, 40), ['two', 40]);
    assert.deepEqual(path({ timeMs: 700 }, 41), undefined);
    const { segments, bases } = content;
    const gapped = { ...content, segments, bases: bases.slice(0, 1) };
    assert.deepEqual(path({ timeMs: 700 }, 40, gapped), undefined, 'not from before a gap');
    assert.deepEqual(path({ timeMs: 500 }, 40, gapped), undefined, 'nor into it');
  });

  test('the oldest segments are too many; folders name their series', () => {
    assert.deepEqual(excessSegments(content.segments, 15), [names[1], names[2]]);
    const series = { base: 'snapshot', nodeName: 'a' };
    assert.ok(isLogOf(series, logFolderName(series, '0123456789abcdef')));
    assert.ok(!isLogOf(series, 'snapshot-a-b-0123456789abcdef'));
  });
});

describe('the keeper', () => {
  let folder: string;
  before(async () => (folder = await mkdtemp(join(tmpdir(), 'keelson-log-keeper-'))));
  after(() => rm(folder, { recursive: true }));

  interface Options {
    readonly maxBytes?: number;
    readonly isFolderThere?: boolean;
    readonly remote?: (signal: AbortSignal) => Promise<LogBucket>;
  }
  const begin = async (name: string, { maxBytes = 100_000_000, isFolderThere = true, remote }: Options = {}) => {
    const platform = createSimPlatform({ startMs: 1_000_000 });
    await platform.files.makeDir('/d');
    if (!isFolderThere) await platform.files.writeFile('/d/snapshots', '');
    const store = await createSqliteStore({ path: join(folder, name), platform });
    const failures: string[] = [];
    let identity = '';
    const changeLog = {
      ...store.changeLog!,
      begin: async (id: string) => {
        const start = await store.changeLog!.begin(id);
        identity = start.identity;
        return start;
      },
    };
    const keeper: LogKeeper = new LogKeeper(
      {
        platform,
        changeLog,
        positionOf: (path) => ({ identity, revision: Number(path.split('@')[1]), timeMs: platform.clock.nowMs() }),
        onFailure: (message) => void failures.push(message),
        remote,
      },
      { dir: '/d/snapshots', dataDir: '/d', series: { base: 'snapshot', nodeName: 'n' }, maxBytes, intervalMs: 1000 },
    );
    let taken = 0;
    const takeSnapshot = async (): Promise<void> => {
      const snapshot = `snapshot-n-100000000${taken++}`;
      await platform.files.writeFile(`/d/snapshots/${snapshot}`, 'state');
      await keeper.snapshotSaved(snapshot, `/x@${(await store.status()).revision}`);
    };
    const end = new AbortController();
    const running = keeper.run(end.signal, takeSnapshot);
    return {
      ...{ platform, store, keeper, failures, takeSnapshot },
      taken: () => taken,
      segments: async () => {
        const [log = ''] = await listLogs(platform.files, '/d/snapshots');
        const files = await listLogFiles(platform.files, `/d/snapshots/log/${log}`);
        return files.filter((each) => each.name.endsWith('.log.gz'));
      },
      stop: async () => {
        end.abort();
        await running;
        await store.close();
      },
    };
  };
  const put = (store: { put: (request: { key: string; value: Uint8Array }) => Promise<unknown> }, bytes = 10) =>
    store.put({ key: '/a', value: randomBytes(bytes) });

  test('begins with its own snapshot and appends to one segment; a stop writes the rest', async () => {
    const world = await begin('grows.db');
    for (let count = 0; count < 5; count++) {
      await put(world.store);
      await world.platform.clock.advance(1000);
    }
    assert.equal(world.taken(), 1);
    assert.equal((await world.segments()).length, 1);
    await put(world.store);
    await world.stop();
    assert.equal((await world.keeper.status()).range?.toRevision, 7);
    assert.deepEqual(world.failures, []);
  });

  test('a folder that cannot be written to fails once, holds compaction, and loses nothing', async () => {
    const world = await begin('fails.db');
    await put(world.store);
    await world.platform.clock.advance(1000);
    await world.platform.files.rename('/d/snapshots', '/d/away');
    await world.platform.files.writeFile('/d/snapshots', '');
    for (let count = 0; count < 4; count++) {
      await put(world.store);
      await world.platform.clock.advance(1000);
    }
    assert.equal(world.failures.length, 1);
    await world.store.compact(6);
    assert.ok((await world.store.status()).compactedRevision < 6);
    await world.platform.files.remove('/d/snapshots');
    await world.platform.files.rename('/d/away', '/d/snapshots');
    await world.platform.clock.advance(2000);
    const { range, failure } = await world.keeper.status();
    assert.deepEqual([range?.toRevision, failure, world.taken()], [6, undefined, 1]);
    await world.store.compact(6);
    assert.equal((await world.store.status()).compactedRevision, 6);
    await world.stop();
  });

  test('a folder that is not there at the start holds compaction too', async () => {
    const world = await begin('late.db', { isFolderThere: false });
    for (let count = 0; count < 3; count++) {
      await put(world.store);
      await world.platform.clock.advance(1000);
    }
    await world.store.compact(3);
    assert.equal((await world.store.status()).compactedRevision, 0);
    await world.platform.files.remove('/d/snapshots');
    await world.platform.clock.advance(2000);
    assert.equal((await world.keeper.status()).range?.toRevision, 4);
    await world.store.compact(3);
    assert.equal((await world.store.status()).compactedRevision, 3);
    await world.stop();
  });

  test('a bucket that does not answer delays nothing', async () => {
    const asked: string[] = [];
    const remote = async (signal: AbortSignal): Promise<LogBucket> => ({
      list: async () => [],
      listBelow: async () => [],
      upload: (path) => {
        asked.push(path);
        return new Promise((_resolve, reject) => onAbort(signal, () => reject(new Error('stopped'))));
      },
      remove: async () => undefined,
    });
    const world = await begin('bucket.db', { remote });
    for (let count = 0; count < 5; count++) {
      await put(world.store);
      await world.platform.clock.advance(1000);
    }
    assert.equal((await world.keeper.status()).range?.toRevision, 6);
    assert.equal(asked.length, 1);
    await world.stop();
    assert.deepEqual(world.failures, []);
  });

  test('beyond the size limit the oldest part is deleted, and the next snapshot becomes the beginning', async () => {
    const world = await begin('bounded.db', { maxBytes: 2_000_000 });
    for (let count = 0; count < 100; count++) {
      await put(world.store, 60_000);
      await world.platform.clock.advance(1000);
      if (count > 1) assert.equal((await world.keeper.status()).range?.toRevision, count + 2);
    }
    const bytes = (await world.segments()).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    assert.ok(bytes <= 4_000_000, String(bytes));
    assert.ok(world.taken() > 1);
    assert.equal((await world.keeper.status()).range?.toRevision, 101);
    await world.stop();
  });
});
