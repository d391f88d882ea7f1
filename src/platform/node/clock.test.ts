import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createNodeClock } from './clock.ts';

const HOUR_MS = 3_600_000;

/** Timers that are armed now, as Node.js counts those that keep a process alive. */
function refed(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}

test('a long timer that is cancelled leaves no list of its duration', async () => {
  const clock = createNodeClock();
  const lists: WeakRef<object>[] = [];
  const { setTimeout: plain } = globalThis;
  globalThis.setTimeout = ((callback: () => void, delayMs: number) => {
    const timer = plain(callback, delayMs);
    // In a list with a single timer, the list is the timer's neighbour on both sides.
    lists.push(new WeakRef((timer as unknown as { _idleNext: object })._idleNext));
    return timer;
  }) as typeof setTimeout;
  try {
    for (let index = 0; index < 50; index++) clock.setTimer(HOUR_MS + index, () => undefined)();
  } finally {
    globalThis.setTimeout = plain;
  }
  assert.equal(lists.length, 50);
  // A WeakRef holds its target until the turn ends.
  await clock.yield();
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  assert.equal(lists.filter((list) => list.deref() !== undefined).length, 0);
});

test('long timers keep no process alive, neither armed, cancelled, nor cancelled twice', () => {
  const clock = createNodeClock();
  const before = refed();
  const cancels = [HOUR_MS, 30 * 24 * HOUR_MS].map((delayMs) => clock.setTimer(delayMs, () => undefined));
  assert.equal(refed(), before);
  for (const cancel of cancels) {
    cancel();
    cancel();
  }
  assert.equal(refed(), before);
});
