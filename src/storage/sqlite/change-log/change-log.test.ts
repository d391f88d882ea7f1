import assert from 'node:assert/strict';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createSeededRandom } from '../../../platform/sim/random.ts';
import { VirtualClock } from '../../../platform/sim/virtual-clock.ts';
import { prefixEnd, type Store, type StoreError, type StoredEntry } from '../../store.ts';
import { advanceStoreFile } from '../backup.ts';
import { createSqliteStore } from '../sqlite-store.ts';
import { type LogEnd, LogReplay, readLogPosition } from './log-files.ts';
import { encodeCommit, encodePart, readParts, type ReadPart, sealPart } from './parts.ts';

const IDENTITY = '0123456789abcdef';
let folder: string;
let files = 0;
before(async () => (folder = await mkdtemp(join(tmpdir(), 'keelson-change-log-'))));
after(() => rm(folder, { recursive: true }));
const newPath = (): string => join(folder, `store-${files++}.db`);

async function contentOf(store: Store): Promise<readonly StoredEntry[]> {
  const { entries } = await store.range({ start: '/', end: prefixEnd('/') });
  return entries.map((entry) => ({ ...entry, value: Buffer.from(entry.value) }));
}

/** All changes after a revision, in parts of this size. */
async function logOf(store: Store, after: number, maxBytes: number): Promise<readonly ReadPart[]> {
  const sealed: Uint8Array[] = [];
  let at = after;
  for (;;) {
    const part = await store.changeLog!.read(at, maxBytes);
    if (part === undefined) break;
    sealed.push(await sealPart(part.bytes));
    at = part.to;
  }
  return readParts(Buffer.concat(sealed), 'log');
}

async function replayed(copy: string, parts: readonly ReadPart[], end: LogEnd): Promise<readonly StoredEntry[]> {
  const path = newPath();
  await copyFile(copy, path);
  const replay = new LogReplay(path, readLogPosition(path)!, end);
  for (const part of parts) replay.add(part);
  replay.close();
  const store = await createSqliteStore({ path, platform: { clock: new VirtualClock() } });
  const content = await contentOf(store);
  await store.close();
  return content;
}

test('a copy and the log after it are the state at every revision and time, with compactions between', async () => {
  const clock = new VirtualClock();
  const random = createSeededRandom('log');
  const store = await createSqliteStore({ path: newPath(), platform: { clock } });
  const states = new Map<number, readonly StoredEntry[]>();
  const times = new Map<number, number>();
  const change = async (): Promise<void> => {
    const key = `/k/${Math.floor(random.next() * 8)}`;
    const value = random.next() < 0.1 ? new Uint8Array() : Buffer.from(`${random.next()}`.repeat(20));
    const write = random.next() < 0.3 ? store.delete({ key }) : store.put({ key, value });
    const result = await write;
    if (!result.ok) return;
    times.set(result.revision, clock.nowMs());
    states.set(result.revision, await contentOf(store));
  };
  for (let count = 0; count < 30; count++) await change();
  const { identity, revision: begun } = await store.changeLog!.begin(IDENTITY);
  assert.equal(identity, IDENTITY);
  for (let count = 0; count < 10; count++) await change();
  const copy = newPath();
  await store.backup!(copy);
  const base = readLogPosition(copy)!;
  assert.ok(base.revision > begun);
  const parts: ReadPart[] = [];
  for (let round = 0; round < 4; round++) {
    for (let count = 0; count < 20; count++) {
      await clock.advance(7);
      await change();
    }
    parts.push(...(await logOf(store, parts.at(-1)?.to ?? begun, 1000)));
    await store.compact(parts.at(-1)!.to);
  }
  await store.close();
  for (const [revision, state] of states) {
    if (revision < base.revision || revision % 8 !== 0) continue;
    assert.deepEqual(await replayed(copy, parts, { revision }), state, `revision ${revision}`);
    const timeMs = times.get(revision)!;
    const last = [...times].findLast(([, time]) => time <= timeMs)![0];
    assert.deepEqual(await replayed(copy, parts, { timeMs }), states.get(last), `time of revision ${revision}`);
  }
});

test('a store that was restored, or written without the log, has another identity', async () => {
  const path = newPath();
  const open = (): Promise<Store> => createSqliteStore({ path, platform: { clock: new VirtualClock() } });
  let store = await open();
  await store.put({ key: '/a', value: Buffer.from('a') });
  await store.changeLog!.begin(IDENTITY);
  await store.put({ key: '/b', value: Buffer.from('b') });
  await store.close();
  store = await open();
  assert.equal((await store.changeLog!.begin('f'.repeat(16))).identity, IDENTITY, 'the same after a restart');
  await store.close();
  store = await open();
  await store.put({ key: '/c', value: Buffer.from('c') });
  await store.close();
  assert.equal(readLogPosition(path), undefined);
  store = await open();
  assert.equal((await store.changeLog!.begin('e'.repeat(16))).identity, 'e'.repeat(16));
  await store.close();
  advanceStoreFile(path);
  assert.equal(readLogPosition(path), undefined);
});

test('a log continues from the first write of the next run, also after a kill, where it is to be kept', async () => {
  const path = newPath();
  const open = (resumesLog: boolean): Promise<Store> =>
    createSqliteStore({ path, platform: { clock: new VirtualClock() }, resumesLog });
  let store = await open(true);
  await store.changeLog!.begin(IDENTITY);
  await store.put({ key: '/a', value: Buffer.from('a') });
  await store.close();
  store = await open(true);
  await store.put({ key: '/b', value: Buffer.from('b') });
  assert.equal((await store.changeLog!.begin('f'.repeat(16))).identity, IDENTITY);
  assert.deepEqual(
    (await logOf(store, 1, 1)).flatMap((part) => part.commits).map(({ changes }) => changes[0]!.key),
    ['/a', '/b'],
  );
  await store.close();
  store = await open(false);
  await store.put({ key: '/c', value: Buffer.from('c') });
  await store.close();
  store = await open(true);
  assert.equal((await store.changeLog!.begin('e'.repeat(16))).identity, 'e'.repeat(16));
  await store.close();
});

test('times do not run backwards with the clock, a compaction waits for its limit', async () => {
  const clock = new VirtualClock({ startMs: 1_000_000 });
  const store = await createSqliteStore({ path: newPath(), platform: { clock } });
  await store.changeLog!.begin(IDENTITY);
  store.changeLog!.limitCompaction(() => Promise.resolve(3));
  for (let count = 0; count < 5; count++) {
    await store.put({ key: '/a', value: Buffer.from([count]) });
    clock.jumpWall(-1000);
  }
  const parts = await logOf(store, 1, 1);
  const commits = parts.flatMap((part) => part.commits);
  assert.deepEqual(
    commits.map(({ timeMs }) => timeMs),
    Array(5).fill(1_000_000),
  );
  await store.compact(6);
  assert.equal((await store.status()).compactedRevision, 3);
  await assert.rejects(store.changeLog!.read(2, 1), (error) => (error as StoreError).code === 'compacted');
  await store.close();
});

test('a part that is not full has every change, however many and small', async () => {
  const store = await createSqliteStore({ path: newPath(), platform: { clock: new VirtualClock() } });
  await store.changeLog!.begin(IDENTITY);
  const value = Buffer.from('x');
  let revision = 0;
  for (let count = 0; count < 1100; count++) {
    const written = await store.put({ key: '/a', value });
    assert.ok(written.ok);
    ({ revision } = written);
  }
  assert.equal((await store.changeLog!.read(1, 1 << 20))?.to, revision);
  await store.close();
});

test('a log that lacks changes, is damaged or is of another store is refused', async () => {
  const store = await createSqliteStore({ path: newPath(), platform: { clock: new VirtualClock() } });
  await store.changeLog!.begin(IDENTITY);
  const copy = newPath();
  await store.backup!(copy);
  for (let count = 0; count < 5; count++) await store.put({ key: `/${count}`, value: Buffer.from('x') });
  const parts = await logOf(store, 1, 1);
  const sealed = await sealPart((await store.changeLog!.read(1, 1))!.bytes);
  await store.close();
  const end = { revision: 6 };
  await assert.rejects(replayed(copy, parts.toSpliced(2, 1), end), /lacks the changes up to revision 4/);
  await assert.rejects(
    replayed(
      copy,
      parts.map((part) => ({ ...part, identity: 'other' })),
      end,
    ),
    /of another store/,
  );
  for (const damaged of [sealed.subarray(0, -1), sealed.with(20, sealed[20]! ^ 1), Buffer.from('text')])
    await assert.rejects(readParts(damaged, 'a.log.gz'), /the change log a\.log\.gz is damaged/);
});

test('a length that leads back to the same change is refused', async () => {
  const change = { revision: 1, created: 1, previous: 0, expiresMs: -1, key: 'a', value: Buffer.from('b') };
  const commit = encodeCommit({ timeMs: 1, changes: [change, change] });
  // Behind the commit's head and four numbers of the change.
  commit.writeInt32BE(-41, 12 + 32);
  const sealed = await sealPart(encodePart({ identity: 'x', after: 0, to: 1 }, [commit]));
  await assert.rejects(readParts(sealed, 'a.log.gz'), /a\.log\.gz is damaged: the change at byte \d+ has no key/);
});
