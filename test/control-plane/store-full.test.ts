/** A SQLite store on a file system that fills up, as root on a small tmpfs: clear errors, no losses, and recovery. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createNodeClock } from '../../src/platform/node/clock.ts';
import { createSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import { StoreError } from '../../src/storage/store.ts';

const isRoot = process.getuid?.() === 0;
const platform = { clock: createNodeClock() };
const all = { start: '', end: '\u{10ffff}' };

test('a full file system', { skip: !isRoot && 'mounting needs root' }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'keelson-full-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder]);
  t.after(async () => {
    execFileSync('umount', [folder]);
    await rm(folder, { recursive: true });
  });
  const path = join(folder, 'state.db');
  const ballast = join(folder, 'ballast');
  await writeFile(ballast, Buffer.alloc(2_000_000));
  const store = await createSqliteStore({ path, platform });
  const acknowledged: string[] = [];
  const write = async (key: string): Promise<void> => {
    const result = await store.put({ key, value: Buffer.alloc(50_000, key), expectRevision: 0 });
    assert.ok(result.ok);
    acknowledged.push(key);
  };
  await assert.rejects(
    async () => {
      for (let at = 0; at < 200; at++) await write(`k${at}`);
    },
    (error) =>
      error instanceof StoreError && error.code === 'full' && /free space on its file system/.test(error.message),
  );
  assert.ok(acknowledged.length > 5);
  const keys = async (): Promise<string[]> => (await store.range(all)).entries.map(({ key }) => key);
  assert.deepEqual(await keys(), acknowledged.toSorted(), 'reads go on');
  await rm(ballast);
  await write('after');
  assert.deepEqual(await keys(), acknowledged.toSorted());
  await store.close();
  const reopened = await createSqliteStore({ path, platform });
  assert.deepEqual(
    (await reopened.range(all)).entries.map(({ key }) => key),
    acknowledged.toSorted(),
  );
  await reopened.close();
});
