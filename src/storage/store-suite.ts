/** The requirements for every store. Each implementation runs this suite from its own test file. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { scanTests } from './scan-suite.ts';
import { prefixEnd, type Store, StoreError } from './store.ts';
import { record } from './watch-recorder-fixture.ts';

/** A store to test. */
export interface StoreFixture {
  readonly store: Store;
  /** Absent: the store's keys expire in real time, wherever it runs. */
  readonly clock?: VirtualClock;
  /** Closes the store and opens it again with its data; absent for stores without persistence. */
  reopen?(): Promise<Store>;
  /** Removes the files of the fixture. The store is closed by then. */
  cleanUp?(): Promise<void>;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value);

const hasCode = (code: StoreError['code']) => (error: unknown) => error instanceof StoreError && error.code === code;

const all = { start: '', end: prefixEnd('') };

/** Runs the suite; `open` makes a new empty store for each test. */
export function describeStore(name: string, open: () => Promise<StoreFixture>): void {
  const storeTest = (title: string, body: (fixture: StoreFixture) => Promise<void>): void => {
    test(title, async () => {
      const fixture = await open();
      try {
        await body(fixture);
      } finally {
        await fixture.store.close();
        await fixture.cleanUp?.();
      }
    });
  };
  describe(name, () => {
    writeTests(storeTest);
    rangeTests(storeTest);
    scanTests(storeTest);
    watchTests(storeTest);
    lifeTests(storeTest);
  });
}

type StoreTest = (title: string, body: (fixture: StoreFixture) => Promise<void>) => void;

function writeTests(storeTest: StoreTest): void {
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

function rangeTests(storeTest: StoreTest): void {
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

function watchTests(storeTest: StoreTest): void {
  storeTest(
    'a watch sees its range alone, in order, each change with the revision its key came at',
    async ({ store }) => {
      const seen = record(store, { start: '/a/', end: prefixEnd('/a/'), afterRevision: 1 });
      await store.put({ key: '/a/1', value: bytes('x') });
      await store.put({ key: '/b/1', value: bytes('other') });
      await store.put({ key: '/a/1', value: bytes('y') });
      await store.delete({ key: '/a/1' });
      assert.deepEqual(seen.lines, ['2 put /a/1=x since 2', '4 put /a/1=y since 2', '5 delete /a/1= since -']);
      seen.watch.stop();
      await store.put({ key: '/a/1', value: bytes('z') });
      assert.deepEqual([seen.lines.length, seen.errors], [3, []]);
    },
  );

  storeTest('a write resolves after its event was delivered; progress reaches everybody', async ({ store }) => {
    const other = record(store, { start: '/other/', end: prefixEnd('/other/'), afterRevision: 1 });
    const single = record(store, { start: '/a', end: '', afterRevision: 1 });
    await store.put({ key: '/a', value: bytes('1') });
    await store.put({ key: '/a/b', value: bytes('1') });
    assert.deepEqual(single.lines, ['2 put /a=1 since 2']);
    await Promise.all([other.seen(3), single.seen(3)]);
    assert.deepEqual(other.lines, []);
  });

  storeTest('a watch resumes from any kept revision and goes on live, each change once', async ({ store }) => {
    for (let write = 2; write <= 6; write++) await store.put({ key: `k${write}`, value: bytes(`${write}`) });
    const seen = record(store, { ...all, afterRevision: 3 });
    await Promise.all([store.put({ key: 'k7', value: bytes('7') }), store.put({ key: 'k8', value: bytes('8') })]);
    await seen.events(5);
    await store.put({ key: 'k9', value: bytes('9') });
    assert.deepEqual(
      seen.lines.map((line) => line.split(' ')[0]),
      ['4', '5', '6', '7', '8', '9'],
    );
    const previous = record(store, { start: 'k2', end: '', afterRevision: 2 });
    await store.put({ key: 'k2', value: bytes('10') });
    await previous.events(1); // It may still read earlier events when the write is done.
    assert.deepEqual(previous.lines, ['10 put k2=10 since 2']);
  });

  storeTest('overlapping, nested and single-key watches each get theirs', async ({ store }) => {
    const ranges = [
      all,
      { start: '/a/', end: prefixEnd('/a/') },
      { start: '/a/m/', end: prefixEnd('/a/m/') },
      { start: '/a/m/1', end: '' },
      { start: '/b/', end: prefixEnd('/b/') },
    ];
    const seen = ranges.map((range) => record(store, { ...range, afterRevision: 1 }));
    for (const key of ['/a/m/1', '/a/z', '/b/1', '/c', '/a/m/10']) await store.put({ key, value: bytes('v') });
    assert.deepEqual(
      seen.map(({ lines }) => lines.map((line) => line.split(' ')[0]).join()),
      ['2,3,4,5,6', '2,3,6', '2,6', '2', '4'],
    );
  });

  storeTest('a commit made from inside a callback comes after the present one for everybody', async ({ store }) => {
    const orders: number[][] = [[], []];
    let nested: Promise<unknown> | undefined;
    for (const order of orders) {
      store.watch(
        { ...all, afterRevision: 1 },
        {
          onEvents(events) {
            order.push(...events.map((event) => event.revision));
            nested ??= store.put({ key: 'nested', value: bytes('n') });
          },
          onError: () => undefined,
        },
      );
    }
    await store.put({ key: 'first', value: bytes('f') });
    await nested;
    assert.deepEqual(orders, [
      [2, 3],
      [2, 3],
    ]);
  });

  storeTest('a watch from a compacted revision fails once', async ({ store }) => {
    for (let write = 0; write < 5; write++) await store.put({ key: 'a', value: bytes(`${write}`) });
    await store.compact(5);
    const late = record(store, { ...all, afterRevision: 4 });
    assert.ok(hasCode('compacted')(await late.failed()));
    const fine = record(store, { ...all, afterRevision: 5 });
    await fine.events(1);
    assert.deepEqual([fine.lines, late.errors.length], [['6 put a=4 since 2'], 1]);
  });
}

function lifeTests(storeTest: StoreTest): void {
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
