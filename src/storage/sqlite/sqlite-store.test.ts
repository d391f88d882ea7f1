import assert from 'node:assert/strict';
import { chmod, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { describeStore } from '../store-suite.ts';
import { prefixEnd, type Store, StoreError } from '../store.ts';
import { checkStoreFile } from './backup.ts';
import { storeErrorOf } from './errors.ts';
import { createSqliteStore } from './sqlite-store.ts';

let folder: string;
let files = 0;
before(async () => (folder = await mkdtemp(join(tmpdir(), 'keelson-sqlite-'))));
after(() => rm(folder, { recursive: true }));
const newPath = (): string => join(folder, `store-${files++}.db`);

const openStore = (path: string): Promise<Store> =>
  createSqliteStore({ path, platform: { clock: new VirtualClock() } });

describeStore('sqlite store', async () => {
  const path = newPath();
  const clock = new VirtualClock();
  const store = await createSqliteStore({ path, platform: { clock } });
  return {
    store,
    clock,
    async reopen() {
      await store.close();
      return createSqliteStore({ path, platform: { clock } });
    },
  };
});

describe('a file that cannot be used', () => {
  const hasCode = (code: StoreError['code'], text: RegExp) => (error: unknown) =>
    error instanceof StoreError && error.code === code && text.test(error.message);

  test('is no database', async () => {
    const path = newPath();
    await writeFile(path, 'this is certainly not a database, '.repeat(100));
    await assert.rejects(openStore(path), hasCode('corrupt', /restore the file from a backup/));
    assert.match(await readFile(path, 'utf8'), /^this is/);
  });

  test('is of another program, or of a later version', async () => {
    const path = newPath();
    const other = new DatabaseSync(path);
    other.exec('CREATE TABLE t (x)');
    other.close();
    await assert.rejects(openStore(path), hasCode('unavailable', /another program/));
    const later = newPath();
    await (await openStore(later)).close();
    const database = new DatabaseSync(later);
    database.exec('PRAGMA user_version = 99');
    database.close();
    await assert.rejects(openStore(later), hasCode('unavailable', /format 99/));
  });

  test('has triggers or views, which would change what is written', async () => {
    for (const part of [
      'TRIGGER t AFTER INSERT ON change BEGIN DELETE FROM change; END',
      'VIEW v AS SELECT key FROM change',
    ]) {
      const path = newPath();
      await (await openStore(path)).close();
      const database = new DatabaseSync(path);
      database.exec(`CREATE ${part}`);
      database.close();
      await assert.rejects(openStore(path), hasCode('unavailable', /triggers or views/));
    }
  });

  test('is a snapshot of no bytes or of no tables, which would restore an empty store', async () => {
    const [empty, tableless, whole] = [newPath(), newPath(), newPath()];
    await writeFile(empty, '');
    const database = new DatabaseSync(tableless);
    database.exec('VACUUM');
    database.close();
    for (const path of [empty, tableless])
      assert.throws(() => checkStoreFile(path), hasCode('corrupt', /is no snapshot of a Keelson store/));
    await (await openStore(whole)).close();
    assert.equal(checkStoreFile(whole).keyCount, 0);
  });

  test('is open elsewhere', async () => {
    const path = newPath();
    const store = await openStore(path);
    await assert.rejects(openStore(path), hasCode('unavailable', /another process has the store open/));
    await store.put({ key: 'a', value: new Uint8Array([1]) });
    await store.close();
  });

  test('has no directory', async () => {
    await assert.rejects(openStore(join(folder, 'none', 'store.db')), hasCode('unavailable', /unable to open/));
  });

  test('was damaged in the middle', async () => {
    const path = newPath();
    const store = await openStore(path);
    const value = new Uint8Array(1000).fill(7);
    await Promise.all(Array.from({ length: 2000 }, (_, index) => store.put({ key: `key-${index}`, value })));
    await store.close();
    const handle = await open(path, 'r+');
    for (let page = 2; page < 400; page++) await handle.write(Buffer.alloc(4096, 0xff), 0, 4096, page * 4096);
    await handle.close();
    const readEverything = async (): Promise<void> => {
      const damaged = await openStore(path);
      try {
        await damaged.range({ start: '', end: '\u{10ffff}' });
      } finally {
        await damaged.close();
      }
    };
    await assert.rejects(readEverything(), hasCode('corrupt', /malformed/));
  });
});

test('writes in the next turns of the loop share the commit of those in flight', async () => {
  const store = await openStore(newPath());
  let results = 0;
  const put = (key: string): Promise<unknown> => store.put({ key, value: Buffer.from('{}') }).then(() => results++);
  const resultsWhenDone = async (writing: Promise<unknown>): Promise<number> => {
    await writing;
    await undefined; // all writes of one commit resolve in one turn
    return results;
  };
  const writes = [put('/a'), put('/b')];
  await nextTurn();
  writes.push(put('/c'));
  await nextTurn();
  writes.push(put('/d'));
  assert.equal(await resultsWhenDone(writes[0]!), 4);
  await Promise.all(writes);
  await store.close();
});

test('result codes are converted to the errors of the store', () => {
  const cases: [number, string, StoreError['code']][] = [
    [5, 'writing', 'unavailable'],
    [13, 'writing', 'full'],
    [11, 'range', 'corrupt'],
    [26, 'opening x', 'corrupt'],
    [10 | (4 << 8), 'writing', 'unknownOutcome'],
    [10, 'range', 'unavailable'],
    [14, 'opening x', 'unavailable'],
  ];
  for (const [errcode, doing, code] of cases) {
    assert.equal(storeErrorOf(Object.assign(new Error('text'), { errcode }), doing).code, code, String(errcode));
  }
});

test('only the owner can read a store, its log or a copy, whatever their modes were', async () => {
  const modes = async (): Promise<Record<string, string>> => {
    const names = (await readdir(folder)).filter((name) => name.startsWith('private'));
    const pairs = names.map(
      async (name) => [name, ((await stat(join(folder, name))).mode & 0o777).toString(8)] as const,
    );
    return Object.fromEntries(await Promise.all(pairs));
  };
  const path = join(folder, 'private.db');
  for (const when of ['new', 'opened to others before']) {
    const store = await openStore(path);
    await store.put({ key: `/a/${when}`, value: Buffer.from('secret') });
    await store.backup!(join(folder, `private-copy-${when.length}.db`));
    const found = await modes();
    assert.ok(Object.keys(found).length >= 3, Object.keys(found).join());
    for (const [name, mode] of Object.entries(found)) assert.equal(mode, '600', `${name}, ${when}`);
    await store.close();
    for (const name of Object.keys(await modes())) await chmod(join(folder, name), 0o644);
    await rm(join(folder, 'private-copy-3.db'), { force: true });
    await rm(join(folder, 'private-copy-23.db'), { force: true });
  }
});

test('writes are acknowledged while two copies are made, and a close waits for both', async () => {
  const store = await openStore(join(folder, 'copied.db'));
  // 60 MB, copied some pages at a time: the first write is acknowledged long before, unless it waits.
  const values = Array.from({ length: 300 }, (_, at) => ({ key: `/c/${at}`, value: Buffer.alloc(200_000, at) }));
  await Promise.all(values.map((value) => store.put(value)));
  const copies = ['one.db', 'two.db'].map((name) => store.backup!(join(folder, `copied-${name}`)));
  let copied = false;
  const done = Promise.all(copies).then(() => (copied = true));
  await store.put({ key: '/w/0', value: Buffer.from('x') });
  assert.equal(copied, false, 'the write did not wait for the copies');
  await store.close();
  await done;
  for (const name of ['one.db', 'two.db']) {
    const copy = await openStore(join(folder, `copied-${name}`));
    assert.equal((await copy.range({ start: '/c/', end: prefixEnd('/c/'), countOnly: true })).count, 300);
    await copy.close();
  }
});
