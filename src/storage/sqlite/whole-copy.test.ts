import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { copyWhole } from './whole-copy.ts';

const folder = mkdtempSync(join(tmpdir(), 'keelson-copy-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('a copy that begins within a transaction waits for its end', async () => {
  const source = new DatabaseSync(join(folder, 'source.db'));
  source.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (k); INSERT INTO t VALUES (1)');
  source.exec('BEGIN IMMEDIATE; INSERT INTO t VALUES (2)');
  let ended = false;
  const copied = copyWhole(source, join(folder, 'copy.db')).finally(() => (ended = true));
  for (let turn = 0; turn < 200; turn++) await setImmediate();
  assert.equal(ended, false);
  source.exec('COMMIT');
  await copied;
  source.close();
  const copy = new DatabaseSync(join(folder, 'copy.db'));
  assert.deepEqual({ ...copy.prepare('SELECT count(*) AS n FROM t').get() }, { n: 2 });
  copy.close();
});

test('another error ends it', async () => {
  const source = new DatabaseSync(join(folder, 'source.db'));
  await assert.rejects(copyWhole(source, join(folder, 'no-such-folder/copy.db')));
  source.close();
});
