/** Watches of every store. */
import assert from 'node:assert/strict';
import { prefixEnd } from './store.ts';
import { record } from './watch-recorder-fixture.ts';
import { all, bytes, hasCode, type StoreTest } from './store-test-fixture.ts';

export function watchTests(storeTest: StoreTest): void {
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
