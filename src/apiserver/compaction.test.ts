import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLog } from '../platform/sim/log.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { createMemoryStore } from '../storage/memory/memory-store.ts';
import { StoreError } from '../storage/store.ts';
import { COMPACTION_BYTES, COMPACTION_PERIOD_MS, startCompaction } from './compaction.ts';
import { CacheHub } from './watch-cache/cache-hub.ts';
import { encodeStored } from './watch-cache/stored-bytes.ts';

test('after two periods the store and the lists kept for pages have nothing of a revision', async () => {
  const clock = new VirtualClock();
  const log = createMemoryLog();
  const store = createMemoryStore({ clock });
  const caches = new CacheHub({ store, clock, log });
  const under = '/registry/things/';
  const things = caches.cache(under);
  await caches.start();
  const stop = startCompaction({ store, clock, log, caches });
  const put = async (name: string): Promise<number> => {
    const value = encodeStored({ kind: 'Thing', apiVersion: 'v1', metadata: { name } });
    const written = await store.put({ key: `${under}${name}`, value });
    assert.ok(written.ok);
    things.keepSnapshot(under, written.revision, things.list(under));
    return written.revision;
  };
  const old = await put('a');
  const kept = await put('b');
  await clock.advance(COMPACTION_PERIOD_MS);
  assert.equal(things.snapshot(under, old)?.length, 1, 'still there after one period');
  await clock.advance(COMPACTION_PERIOD_MS);
  assert.equal(things.snapshot(under, old), undefined);
  await assert.rejects(
    store.range({ start: under, end: '/registry/things0', revision: old }),
    (error) => error instanceof StoreError && error.code === 'compacted',
  );
  assert.equal(things.snapshot(under, kept)?.length, 2, 'the newest of then is the oldest kept');
  stop();
  caches.stop();
});

test('a permanent writer: old revisions in the store are bounded by bytes, and so are those in the caches of all kinds', async () => {
  const clock = new VirtualClock();
  const log = createMemoryLog();
  const store = createMemoryStore({ clock });
  const caches = new CacheHub({ store, clock, log });
  const kinds = ['a', 'b', 'c', 'd', 'e'].map((kind) => caches.cache(`/registry/${kind}/`));
  await caches.start();
  const stop = startCompaction({ store, clock, log, caches });
  // All revisions share one memory.
  const value = encodeStored({ kind: 'Thing', apiVersion: 'v1', metadata: { name: 'x'.repeat(1024 * 1024) } });
  const revisionsOf = (bytes: number): number => Math.ceil(bytes / value.byteLength);
  let written = 0;
  for (let times = 0; times < revisionsOf(3.5 * COMPACTION_BYTES); times++) {
    const under = kinds[times % kinds.length]!.prefix;
    const result = await store.put({ key: `${under}x`, value });
    assert.ok(result.ok);
    written = result.revision;
    const { compactedRevision } = await store.status();
    assert.ok(written - compactedRevision <= revisionsOf(2 * COMPACTION_BYTES) + 2, `${written - compactedRevision}`);
    const remembered = kinds.reduce((sum, cache) => sum + cache.rememberedBytes, 0);
    assert.ok(remembered <= 256 * 1024 * 1024 + 2 * 8 * 1024 * 1024 + 2 * value.byteLength, `${remembered} bytes`);
  }
  assert.equal(clock.monotonicMs(), 0, 'no time has passed');
  for (const cache of kinds)
    assert.ok(cache.changesAfter(written - kinds.length) !== undefined, 'the newest are there');
  assert.equal(kinds[0]!.changesAfter(1), undefined);
  stop();
  caches.stop();
});
