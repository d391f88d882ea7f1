/** Writes of every store: revisions, preconditions, deletion. */
import assert from 'node:assert/strict';
import { all, bytes, text, type StoreTest } from './store-test-fixture.ts';

export function writeTests(storeTest: StoreTest): void {
  storeTest('revisions start at 1 and rise by one per change', async ({ store }) => {
    assert.equal((await store.range(all)).revision, 1);
    assert.deepEqual(await store.put({ key: 'a', value: bytes('1'), expectRevision: 0 }), { ok: true, revision: 2 });
    const second = await store.put({ key: 'a', value: bytes('2'), expectRevision: 2 });
    assert.ok(second.ok);
    assert.equal(second.revision, 3);
    const entry = await store.get('a');
    assert.deepEqual([entry?.key, text(entry?.value), entry?.modRevision, entry?.createRevision], ['a', '2', 3, 2]);
    const gone = await store.delete({ key: 'a', expectRevision: 3 });
    assert.ok(gone.ok);
    assert.equal(gone.revision, 4);
    assert.equal(await store.get('a'), undefined);
    const again = await store.put({ key: 'a', value: bytes('3') });
    assert.ok(again.ok);
    assert.equal((await store.get('a'))?.createRevision, 5);
  });

  storeTest('a lost compare brings the current entry and changes nothing', async ({ store }) => {
    await store.put({ key: 'a', value: bytes('1') });
    for (const lost of [
      await store.put({ key: 'a', value: bytes('x'), expectRevision: 0 }),
      await store.put({ key: 'a', value: bytes('x'), expectRevision: 7 }),
      await store.delete({ key: 'a', expectRevision: 7 }),
    ]) {
      assert.ok(!lost.ok);
      assert.equal(text(lost.current?.value), '1');
      assert.equal(lost.current?.modRevision, 2);
    }
    assert.deepEqual(await store.put({ key: 'b', value: bytes('x'), expectRevision: 2 }), { ok: false });
    assert.deepEqual(await store.delete({ key: 'b' }), { ok: false });
    assert.deepEqual(await store.delete({ key: 'b', expectRevision: 2 }), { ok: false });
    assert.equal((await store.range(all)).revision, 2);
  });

  storeTest('of concurrent writers of one revision exactly one wins', async ({ store }) => {
    await store.put({ key: 'a', value: bytes('0') });
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) => store.put({ key: 'a', value: bytes(`w${index}`), expectRevision: 2 })),
    );
    assert.equal(results.filter((result) => result.ok).length, 1);
    const now = text((await store.get('a'))?.value);
    for (const result of results) if (!result.ok) assert.equal(text(result.current?.value), now);
  });

  storeTest('writes of one batch build on each other', async ({ store }) => {
    const [first, second, third] = await Promise.all([
      store.put({ key: 'a', value: bytes('1'), expectRevision: 0 }),
      store.put({ key: 'a', value: bytes('2'), expectRevision: 2 }),
      store.delete({ key: 'a', expectRevision: 3 }),
    ]);
    assert.deepEqual([first?.ok, second?.ok, third?.ok], [true, true, true]);
    assert.equal(third?.ok ? third.revision : undefined, 4);
    assert.equal(await store.get('a'), undefined);
  });

  storeTest('empty and large values survive', async ({ store }) => {
    const large = new Uint8Array(3_000_000).map((_, index) => index % 251);
    await store.put({ key: 'large', value: large });
    await store.put({ key: 'empty', value: new Uint8Array() });
    assert.deepEqual(Buffer.compare((await store.get('large'))!.value, large), 0);
    assert.equal((await store.get('empty'))!.value.byteLength, 0);
  });
}
