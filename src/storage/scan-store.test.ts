import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { createMemoryStore } from './memory/memory-store.ts';
import { scanStore } from './scan-store.ts';
import { prefixEnd } from './store.ts';

test('a store without its own scan is read in pages of one revision', async () => {
  const store = createMemoryStore({ clock: new VirtualClock() });
  const value = Buffer.from('v');
  const keyOf = (index: number): string => `/a/${String(index).padStart(6, '0')}`;
  await Promise.all(Array.from({ length: 20_500 }, (_, index) => store.put({ key: keyOf(index), value })));
  const sizes: number[] = [];
  const keys = new Set<string>();
  const writes: Promise<unknown>[] = [];
  const revision = await scanStore(store, { start: '/a/', end: prefixEnd('/a/') }, ({ entries }) => {
    sizes.push(entries.length);
    for (const { key } of entries) keys.add(key);
    writes.push(store.put({ key: keyOf(900_000 + sizes.length), value }), store.delete({ key: keyOf(20_499) }));
  });
  await Promise.all(writes);
  assert.deepEqual(
    [sizes, keys.size, keys.has(keyOf(20_499)), revision],
    [[10_000, 10_000, 500], 20_500, true, 20_501],
  );
  await store.close();
});
