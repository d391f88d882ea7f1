/** Reads of every store: ranges, limits, past revisions. */
import assert from 'node:assert/strict';
import { prefixEnd } from './store.ts';
import { record } from './watch-recorder-fixture.ts';
import { all, bytes, hasCode, text, type StoreTest } from './store-test-fixture.ts';

export function rangeTests(storeTest: StoreTest): void {
  storeTest('ranges come in byte order of UTF-8 keys, limited and counted', async ({ store }) => {
    const keys = ['/a/b', '/a/', '/a/é', '/a/\u{1F600}', '/a/\uFFFD', '/a/Z', '/b/x', '/a'];
    for (const key of keys) await store.put({ key, value: bytes(key) });
    const inOrder = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    assert.deepEqual(
      (await store.range(all)).entries.map(({ key }) => key),
      inOrder,
    );
    const under = inOrder.filter((key) => key.startsWith('/a/'));
    const range = { start: '/a/', end: prefixEnd('/a/') };
    assert.deepEqual(
      (await store.range(range)).entries.map(({ key }) => key),
      under,
    );
    const page = await store.range({ ...range, limit: 2 });
    assert.deepEqual([page.entries.map(({ key }) => key), page.count], [under.slice(0, 2), under.length]);
    const rest = await store.range({ ...range, start: `${under[1]!}\0` });
    assert.deepEqual(
      rest.entries.map(({ key }) => key),
      under.slice(2),
    );
    const counted = await store.range({ ...range, countOnly: true });
    assert.deepEqual([counted.entries.length, counted.count], [0, under.length]);
    const one = await store.range({ start: '/a', end: '' });
    assert.deepEqual([one.entries.map(({ key }) => key), one.count], [['/a'], 1]);
    assert.deepEqual((await store.range({ start: 'x', end: 'a' })).entries, []);
  });

  storeTest('reads at an earlier revision see the world as it was', async ({ store }) => {
    await store.put({ key: 'a', value: bytes('a2') });
    await store.put({ key: 'b', value: bytes('b3') });
    await store.put({ key: 'a', value: bytes('a4') });
    await store.delete({ key: 'b' });
    await store.put({ key: 'b', value: bytes('b6') });
    const worlds = ['', 'a=a2', 'a=a2 b=b3', 'a=a4 b=b3', 'a=a4', 'a=a4 b=b6'];
    for (const [index, want] of worlds.entries()) {
      const revision = index + 1;
      const { entries, count, revision: at } = await store.range({ ...all, revision });
      assert.equal(entries.map((entry) => `${entry.key}=${text(entry.value)}`).join(' '), want, `at ${revision}`);
      assert.deepEqual([count, at], [entries.length, 6]);
      assert.ok(entries.every((entry) => entry.modRevision <= revision && entry.createRevision <= entry.modRevision));
      const limited = await store.range({ ...all, revision, limit: 1 });
      assert.deepEqual([limited.entries.length, limited.count], [Math.min(1, count), count]);
      assert.equal((await store.range({ ...all, revision, countOnly: true })).count, count);
    }
    const b = await store.range({ start: 'b', end: '', revision: 4 });
    assert.deepEqual([b.entries.length, b.entries[0]?.createRevision], [1, 3]);
    await assert.rejects(store.range({ ...all, revision: 7 }), hasCode('futureRevision'));
  });

  storeTest('pages of an earlier revision show it while writes go on', async ({ store }) => {
    const wanted = Array.from({ length: 20 }, (_, index) => `k${index + 10}`);
    for (const key of wanted) await store.put({ key, value: bytes(key) });
    const { revision } = await store.range(all);
    await store.put({ key: 'k10', value: bytes('other') });
    const seen: string[] = [];
    for (let start = ''; ;) {
      const { entries, count } = await store.range({ start, end: prefixEnd(''), revision, limit: 3 });
      assert.equal(count, wanted.length - seen.length);
      for (const entry of entries) seen.push(text(entry.value) ?? '');
      if (entries.length === count) break;
      start = `${entries.at(-1)!.key}\0`;
      await store.delete({ key: wanted[seen.length] ?? '' });
      await store.put({ key: `${start}new`, value: bytes('new') });
      await store.put({ key: 'k29', value: bytes('newer') });
    }
    assert.deepEqual(seen, wanted);
    await store.compact((await store.range(all)).revision);
    await assert.rejects(store.range({ ...all, revision, limit: 3 }), hasCode('compacted'));
  });

  storeTest('compaction forgets what came before and keeps what is', async ({ store }) => {
    for (let write = 2; write <= 10; write++)
      await store.put({ key: write % 2 ? 'odd' : 'even', value: bytes(`${write}`) });
    await store.delete({ key: 'odd' });
    await store.put({ key: 'even', value: bytes('12') });
    await store.compact(11);
    await assert.rejects(store.range({ ...all, revision: 10 }), hasCode('compacted'));
    const at11 = await store.range({ ...all, revision: 11 });
    assert.deepEqual(
      at11.entries.map((entry) => `${entry.key}=${text(entry.value)}`),
      ['even=10'],
    );
    assert.deepEqual(
      (await store.range(all)).entries.map((entry) => text(entry.value)),
      ['12'],
    );
    const late = record(store, { ...all, afterRevision: 11 });
    await late.events(1);
    assert.deepEqual(late.lines, ['12 put even=12 since 2']);
    await store.compact(5);
    await store.compact(12);
    const status = await store.status();
    assert.deepEqual([status.revision, status.compactedRevision, status.keyCount], [12, 12, 1]);
    await assert.rejects(store.compact(13), hasCode('futureRevision'));
    await store.put({ key: 'odd', value: bytes('13'), expectRevision: 0 });
    assert.equal((await store.get('odd'))?.createRevision, 13);
  });

  storeTest('a compaction of thousands of changes keeps exactly the live keys', async ({ store }) => {
    const writes: Promise<unknown>[] = [];
    for (let write = 0; write < 5000; write++) {
      const key = `k${write % 700}`;
      writes.push(write % 11 === 0 ? store.delete({ key }) : store.put({ key, value: bytes(`${write}`) }));
    }
    await Promise.all(writes);
    const before = await store.range(all);
    await store.compact(before.revision - 100);
    const then = await store.range({ ...all, revision: before.revision - 100 });
    assert.ok(then.count > 600);
    await store.compact(before.revision);
    const after = await store.range(all);
    assert.deepEqual(after, before);
    assert.equal((await store.status()).keyCount, before.count);
  });
}
