/** The part of the stores' suite about scans: everything in a range, in pages, at one revision. */
import assert from 'node:assert/strict';
import { scanStore } from './scan-store.ts';
import { prefixEnd, type Store, type StoredEntry } from './store.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value);

/** Registers the tests, each on a new empty store. */
export function scanTests(
  storeTest: (title: string, body: (fixture: { readonly store: Store }) => Promise<void>) => void,
): void {
  storeTest(
    'a scan hands over the newest of every key of its range, as of the revision it resolves to',
    async ({ store }) => {
      const large = 'x'.repeat(700_000);
      await store.put({ key: '/a/gone', value: bytes('1') });
      await store.put({ key: '/b/other', value: bytes('1') });
      for (const name of ['1', '2', '3']) await store.put({ key: `/a/${name}`, value: bytes(large) });
      await store.put({ key: '/a/1', value: bytes('new') });
      await store.put({ key: '/a/é', value: bytes('') });
      await store.delete({ key: '/a/gone' });
      const found: StoredEntry[] = [];
      const scanning = scanStore(store, { start: '/a/', end: prefixEnd('/a/') }, ({ entries }) =>
        found.push(...entries),
      );
      const [revision, late] = await Promise.all([scanning, store.put({ key: '/a/late', value: bytes('late') })]);
      const isSeen = late.ok && late.revision <= revision;
      const brief = found.map((entry) => [
        entry.key,
        text(entry.value)?.length,
        entry.modRevision,
        entry.createRevision,
      ]);
      assert.deepEqual(
        brief.sort(([a], [b]) => (a! < b! ? -1 : 1)),
        [
          ['/a/1', 3, 7, 4],
          ['/a/2', large.length, 5, 5],
          ['/a/3', large.length, 6, 6],
          ...(isSeen ? [['/a/late', 4, 10, 10]] : []),
          ['/a/é', 0, 8, 8],
        ],
      );
      assert.equal(revision, isSeen ? 10 : 9);
      const failing = scanStore(store, { start: '', end: prefixEnd('') }, () => {
        throw new Error('enough');
      });
      await assert.rejects(failing, /enough/);
    },
  );

  storeTest('a scan of many pages sees one revision, and keeps off what is written meanwhile', async ({ store }) => {
    const value = bytes('x'.repeat(700_000));
    const keyOf = (index: number): string => `/a/${String(index).padStart(2, '0')}`;
    for (let index = 0; index < 15; index++) await store.put({ key: keyOf(index), value });
    const before = (await store.range({ start: '', end: prefixEnd('') })).revision;
    const range = { start: '/a/', end: prefixEnd('/a/'), pageEntries: 2 };
    const found: StoredEntry[] = [];
    const writes: Promise<unknown>[] = [];
    let pages = 0;
    const revision = await scanStore(store, range, ({ entries }) => {
      if (entries.length > 0) pages++;
      found.push(...entries);
      if (pages === 1) {
        writes.push(store.delete({ key: keyOf(14) }), store.put({ key: keyOf(13), value: bytes('new') }));
        writes.push(store.put({ key: keyOf(99), value }));
      }
    });
    await Promise.all(writes);
    assert.ok(pages > 4, `${pages} pages`);
    assert.equal(revision, before);
    assert.deepEqual(
      found.map(({ key, value: { byteLength } }) => `${key} ${byteLength}`).sort(),
      Array.from({ length: 15 }, (_, index) => `${keyOf(index)} 700000`),
    );
    // A reader that stops ends the scan, and the store continues.
    const seen: number[] = [];
    const failing = scanStore(store, range, ({ entries }) => {
      seen.push(entries.length);
      throw new Error('enough');
    });
    await assert.rejects(failing, /enough/);
    assert.equal(seen.length, 1);
    assert.ok((await store.put({ key: keyOf(0), value: bytes('after') })).ok);
    assert.equal(text((await store.get(keyOf(0)))?.value), 'after');
  });
}
