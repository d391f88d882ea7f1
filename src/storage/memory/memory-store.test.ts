import assert from 'node:assert/strict';
import { it } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { describeStore } from '../store-suite.ts';
import { createMemoryStore } from './memory-store.ts';

describeStore('memory store', async () => {
  const clock = new VirtualClock();
  return { store: createMemoryStore({ clock }), clock };
});

it('forgets old revisions by itself when it is told how many to keep', async () => {
  const store = createMemoryStore({ clock: new VirtualClock(), keepChanges: 10 });
  const value = new Uint8Array([1]);
  for (let time = 0; time < 100; time++) await store.put({ key: 'a', value });
  const { revision, compactedRevision } = await store.status();
  assert.ok(revision - compactedRevision >= 10 && revision - compactedRevision <= 20);
  assert.equal((await store.get('a'))?.modRevision, revision);
  await store.range({ start: 'a', end: '', revision: revision - 9 });
  await assert.rejects(store.range({ start: 'a', end: '', revision: compactedRevision - 1 }), { code: 'compacted' });
});
