import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLog } from '../platform/sim/log.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { type Expiry, ExpiryQueue } from './expiry-queue.ts';

test('returns due keys together and in order, unless cleared or postponed', async () => {
  const log = createMemoryLog();
  const clock = new VirtualClock({ startMs: 0 });
  const expired: [number, string[]][] = [];
  const queue = new ExpiryQueue(
    { clock, log },
    async (due) => void expired.push([clock.nowMs(), due.map(({ key }) => key)]),
  );
  const set = (key: string, dueWallMs: number): void => queue.set({ key, revision: 1, dueWallMs });
  set('late', 3000);
  set('early', 1000);
  set('with early', 1000);
  set('cleared', 1000);
  set('put off', 1000);
  queue.clear('cleared');
  set('put off', 2000);
  await clock.advance(10_000);
  assert.deepEqual(expired, [
    [1000, ['early', 'with early']],
    [2000, ['put off']],
    [3000, ['late']],
  ]);
});

test('tries again after a failure, which is logged and a fault counted, and not at all once closed', async () => {
  const log = createMemoryLog();
  const clock = new VirtualClock({ startMs: 0 });
  const tries: number[] = [];
  const queue = new ExpiryQueue({ clock, log }, async (_due: readonly Expiry[]) => {
    tries.push(clock.nowMs());
    if (tries.length === 1) throw new Error('the store is busy');
    if (tries.length === 2) throw new TypeError('broken');
  });
  queue.set({ key: 'a', revision: 1, dueWallMs: 1000 });
  await clock.advance(60_000);
  assert.deepEqual(tries, [1000, 6000, 11_000]);
  assert.deepEqual(
    log.entries.map(({ level }) => level),
    ['warn', 'error'],
  );
  queue.set({ key: 'b', revision: 1, dueWallMs: clock.nowMs() + 1000 });
  queue.close();
  await clock.advance(60_000);
  assert.equal(tries.length, 3);
});

test('times of a past run are due at once', async () => {
  const log = createMemoryLog();
  const clock = new VirtualClock({ startMs: 1_000_000 });
  const expired: string[] = [];
  const queue = new ExpiryQueue({ clock, log }, async (due) => void expired.push(...due.map(({ key }) => key)));
  queue.set({ key: 'old', revision: 1, dueWallMs: 5 });
  await clock.advance(0);
  assert.deepEqual(expired, ['old']);
});
