import assert from 'node:assert/strict';
import { it } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { describeStore } from '../store-suite.ts';
import { prefixEnd } from '../store.ts';
import { record } from '../watch-recorder-fixture.ts';
import { createMemoryStore } from './memory-store.ts';

describeStore('memory store', async () => {
  const clock = new VirtualClock();
  return { store: createMemoryStore({ clock }), clock };
});

it('compacts old revisions by itself with a configured limit', async () => {
  const store = createMemoryStore({ clock: new VirtualClock(), keepChanges: 10 });
  const value = new Uint8Array([1]);
  for (let time = 0; time < 100; time++) await store.put({ key: 'a', value });
  const { revision, compactedRevision } = await store.status();
  assert.ok(revision - compactedRevision >= 10 && revision - compactedRevision <= 20);
  assert.equal((await store.get('a'))?.modRevision, revision);
  await store.range({ start: 'a', end: '', revision: revision - 9 });
  await assert.rejects(store.range({ start: 'a', end: '', revision: compactedRevision - 1 }), { code: 'compacted' });
});

it('begins with entries: readers, watchers and later writes find them as if they had been written one by one', async () => {
  const value = (byte: number): Uint8Array => new Uint8Array([byte]);
  const entries = ['b', 'a', 'c'].map((key, at) => ({ key, value: value(at) }));
  const begun = createMemoryStore({ clock: new VirtualClock(), entries });
  const written = createMemoryStore({ clock: new VirtualClock() });
  for (const { key, value: bytes } of entries) await written.put({ key, value: bytes, expectRevision: 0 });
  const range = { start: '', end: prefixEnd('') };
  assert.deepEqual(await begun.range(range), await written.range(range));
  assert.deepEqual(await begun.status(), await written.status());
  const [seen, expected] = [begun, written].map((store) => record(store, { ...range, afterRevision: 2 }));
  for (const store of [begun, written]) {
    assert.equal((await store.put({ key: 'a', value: value(9), expectRevision: 0 })).ok, false);
    assert.deepEqual(await store.put({ key: 'a', value: value(9), expectRevision: 3 }), { ok: true, revision: 5 });
  }
  assert.equal(seen!.lines.length, 3);
  assert.deepEqual(seen!.lines, expected!.lines);
});

it('forgets none of the entries that it begins with before somebody can watch them', async () => {
  const entries = Array.from({ length: 100 }, (_, at) => ({ key: `k${at}`, value: new Uint8Array([at]) }));
  const store = createMemoryStore({ clock: new VirtualClock(), keepChanges: 10, entries });
  const watched = record(store, { start: '', end: prefixEnd(''), afterRevision: 0 });
  await store.put({ key: 'new', value: new Uint8Array([1]) });
  assert.deepEqual(watched.errors, []);
  assert.equal(watched.lines.length, 101);
  assert.ok((await store.status()).compactedRevision > 0);
});
