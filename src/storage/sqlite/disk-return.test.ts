import assert from 'node:assert/strict';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import type { Store } from '../store.ts';
import { DiskReturn } from './disk-return.ts';
import { STEP_PAGES } from './free-pages.ts';
import { createSqliteStore } from './sqlite-store.ts';

const PAGE_BYTES = 8192;
const MEGABYTE = 1024 * 1024;

let folder: string;
before(async () => (folder = await mkdtemp(join(tmpdir(), 'keelson-disk-'))));
after(() => rm(folder, { recursive: true }));

/** Writes 48 MB of which 3 MB stay, and compacts. */
async function churn(store: Store): Promise<void> {
  for (let round = 0; round < 16; round++) {
    const value = Buffer.alloc(3000, round + 1);
    await Promise.all(Array.from({ length: 1024 }, (_, index) => store.put({ key: `key-${index}`, value })));
  }
  await store.compact((await store.status()).revision);
}

test('a churned file shrinks to twice its content while writes go on, and none waits for more than some steps', async () => {
  const path = join(folder, 'churned.db');
  const clock = new VirtualClock();
  const store = await createSqliteStore({ path, platform: { clock } });
  await churn(store);
  const before = (await store.status()).sizeBytes;
  assert.ok(before > 32 * MEGABYTE, String(before));
  await clock.advance(6_000);
  let fewest = 0;
  for (let write = 0; write < 200; write++) {
    const { sizeBytes } = await store.status();
    const moving = clock.advance(100);
    const result = await store.put({ key: `key-${write}`, value: Buffer.alloc(3000, 99) });
    assert.equal(result.ok, true);
    await moving;
    fewest = Math.max(fewest, sizeBytes - (await store.status()).sizeBytes);
  }
  assert.ok(fewest > 0 && fewest <= 8 * STEP_PAGES * PAGE_BYTES, `${fewest} bytes went during one write`);
  await store.compact((await store.status()).revision);
  await clock.advance(60_000);
  const { size } = await stat(path);
  const log = await stat(`${path}-wal`);
  assert.ok(size + log.size <= 2 * 4 * MEGABYTE, `${size} and ${log.size} bytes`);
  assert.equal((await store.range({ start: 'key-', end: 'key-~' })).count, 1024);
  await store.close();
  const file = new DatabaseSync(path);
  assert.equal(file.prepare('PRAGMA integrity_check').get()!['integrity_check'], 'ok');
  file.close();
});

test('a file of an older version is rewritten when it is opened, and shrinks from then on', async () => {
  const path = join(folder, 'old.db');
  const clock = new VirtualClock();
  await (await createSqliteStore({ path, platform: { clock } })).close();
  const old = new DatabaseSync(path);
  old.exec('PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM');
  assert.equal(old.prepare('PRAGMA auto_vacuum').get()!['auto_vacuum'], 0);
  const insert = old.prepare(
    "INSERT INTO change (revision, key, deleted, created, previous, value) VALUES (?, 'k', 0, 2, ?, ?)",
  );
  old.exec('BEGIN');
  for (let revision = 2; revision < 2002; revision++)
    insert.run(revision, revision === 2 ? 0 : revision - 1, Buffer.alloc(8000, 1));
  old.exec('COMMIT; DELETE FROM change WHERE revision < 1000');
  old.close();
  const store = await createSqliteStore({ path, platform: { clock } });
  assert.ok((await stat(path)).size < 9 * MEGABYTE);
  await store.compact(2001);
  await clock.advance(60_000);
  assert.ok((await stat(path)).size < 4.5 * MEGABYTE);
  assert.equal((await store.get('k'))?.modRevision, 2001);
  await store.close();
});

test('the write-ahead log of many writes is checkpointed when idle, without a compaction; a few writes leave it', async () => {
  const path = join(folder, 'log.db');
  const clock = new VirtualClock();
  const store = await createSqliteStore({ path, platform: { clock } });
  const write = (count: number): Promise<unknown> =>
    Promise.all(Array.from({ length: count }, (_, key) => store.put({ key: `key-${key}`, value: Buffer.alloc(3000) })));
  const logBytes = async (): Promise<number> => (await stat(`${path}-wal`)).size;
  await write(1000);
  assert.ok((await logBytes()) > 2 * MEGABYTE);
  await clock.advance(60_000);
  assert.equal(await logBytes(), 0);
  await write(100);
  const left = await logBytes();
  assert.ok(left > 0);
  await clock.advance(60_000);
  assert.equal(await logBytes(), left);
  await store.close();
});

test('no step begins while a write is under way or while much is written, and the last step is the end', async () => {
  const clock = new VirtualClock();
  const state = { revision: 0, isBusy: false, steps: 0 };
  const disk = new DiskReturn({
    clock,
    revision: () => state.revision,
    isBusy: () => state.isBusy,
    step: async () => ++state.steps >= 5,
  });
  disk.start();
  disk.start();
  const writing = clock.setTicker(1_000, () => (state.revision += 200));
  await clock.advance(60_000);
  assert.equal(state.steps, 0, 'busy with writes');
  writing();
  state.isBusy = true;
  await clock.advance(60_000);
  assert.equal(state.steps, 0, 'a write is under way');
  state.isBusy = false;
  await clock.advance(25);
  assert.equal(state.steps, 1, 'one step, then a pause');
  state.isBusy = true;
  await clock.advance(1_000);
  assert.equal(state.steps, 1);
  state.isBusy = false;
  await clock.advance(60_000);
  assert.equal(state.steps, 5);
  disk.start();
  await clock.advance(6_000);
  assert.equal(state.steps, 6, 'the next compaction begins anew');
  disk.stop();
  await clock.advance(60_000);
  assert.equal(state.steps, 6);
});
