/** Compaction, status and closing of every store. */
import assert from 'node:assert/strict';
import { record } from './watch-recorder-fixture.ts';
import { all, bytes, hasCode, text, type StoreTest } from './store-test-fixture.ts';

export function lifeTests(storeTest: StoreTest): void {
  storeTest('a key with a time to live goes by itself unless written again', async ({ store, clock }) => {
    if (clock === undefined) return;
    const seen = record(store, { ...all, afterRevision: 1 });
    await store.put({ key: 'short', value: bytes('s'), ttlSeconds: 10 });
    await store.put({ key: 'renewed', value: bytes('r'), ttlSeconds: 10 });
    await store.put({ key: 'kept', value: bytes('k'), ttlSeconds: 10 });
    await clock.advance(9_000);
    await store.put({ key: 'renewed', value: bytes('r2'), ttlSeconds: 10 });
    await store.put({ key: 'kept', value: bytes('k2') });
    await clock.advance(999);
    assert.ok(await store.get('short'));
    await clock.advance(2);
    assert.equal(await store.get('short'), undefined);
    assert.ok((await store.get('renewed')) && (await store.get('kept')));
    assert.equal(seen.lines.at(-1), '7 delete short= since -');
    await clock.advance(3_600_000);
    assert.deepEqual(
      (await store.range(all)).entries.map(({ key }) => key),
      ['kept'],
    );
  });

  storeTest('after close everything is refused and watches end', async ({ store }) => {
    const seen = record(store, { ...all, afterRevision: 1 });
    const pending = store.put({ key: 'a', value: bytes('1') });
    await store.close();
    assert.ok((await pending).ok, 'what was accepted is finished');
    assert.ok(hasCode('closed')(await seen.failed()));
    assert.deepEqual(seen.lines, ['2 put a=1 since 2']);
    await assert.rejects(store.get('a'), hasCode('closed'));
    await assert.rejects(store.put({ key: 'a', value: bytes('2') }), hasCode('closed'));
    assert.ok(hasCode('closed')(await record(store, { ...all, afterRevision: 1 }).failed()));
    await store.close();
  });

  storeTest('a store that keeps data has all of it after reopening', async ({ store, reopen, clock }) => {
    if (reopen === undefined) return;
    await store.put({ key: 'a', value: bytes('1') });
    await store.put({ key: 'a', value: bytes('2') });
    await store.put({ key: 'b', value: bytes('b'), ttlSeconds: 60 });
    await store.delete({ key: 'a' });
    await store.put({ key: 'c', value: bytes('c') });
    await store.compact(3);
    const reopened = await reopen();
    try {
      assert.deepEqual(
        (await reopened.range(all)).entries.map((entry) => text(entry.value)),
        ['b', 'c'],
      );
      assert.deepEqual(
        (await reopened.range({ ...all, revision: 3 })).entries.map((entry) => text(entry.value)),
        ['2'],
      );
      await assert.rejects(reopened.range({ ...all, revision: 2 }), hasCode('compacted'));
      const seen = record(reopened, { ...all, afterRevision: 3 });
      await seen.events(3);
      assert.deepEqual(seen.lines, ['4 put b=b since 4', '5 delete a= since -', '6 put c=c since 6']);
      assert.deepEqual(await reopened.put({ key: 'd', value: bytes('d'), expectRevision: 0 }), {
        ok: true,
        revision: 7,
      });
      await clock?.advance(61_000);
      assert.equal((await reopened.get('b')) === undefined, clock !== undefined);
    } finally {
      await reopened.close();
    }
  });
}
