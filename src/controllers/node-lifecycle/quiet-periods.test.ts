import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CancelTimer } from '../../platform/clock.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createQuietPeriods } from './quiet-periods.ts';

/** Rests again and again, and notes when each rest ended. */
function resting(quietMs: (nowMs: number) => number, clock = new VirtualClock()) {
  const stop = new AbortController();
  const ends: number[] = [];
  const periods = createQuietPeriods(clock, 5_000, () => quietMs(clock.monotonicMs()));
  void (async () => {
    while (!stop.signal.aborted) {
      await periods.rest(stop.signal);
      ends.push(clock.monotonicMs() / 1000);
    }
  })();
  return { clock, stop, ends, periods };
}

test('there is a round after every period, unless nothing can change', async () => {
  const { clock, ends, stop } = resting((nowMs) => (nowMs === 10_000 ? 12_000 : 0));
  await clock.advance(30_000);
  assert.deepEqual(ends, [5, 10, 25, 30]);
  stop.abort();
  await clock.settle();
  assert.equal(clock.pendingTimers, 0);
});

test('a change during the quiet is seen by the round that would have been next', async () => {
  const { clock, ends, periods } = resting((nowMs) => (nowMs < 60_000 ? Infinity : 0));
  await clock.advance(60_000);
  assert.deepEqual(ends, []);
  await clock.advance(2_000);
  periods.disturb();
  periods.disturb();
  await clock.advance(10_000);
  assert.deepEqual(ends, [65, 70]);
  periods.disturb();
  await clock.advance(3_000);
  assert.deepEqual(ends, [65, 70, 75]);
});

test('a change at the end of a period is seen at once', async () => {
  const { clock, ends, periods } = resting((nowMs) => (nowMs < 20_000 ? 40_000 : 0));
  await clock.advance(20_000);
  periods.disturb();
  await clock.settle();
  assert.deepEqual(ends, [20]);
});

test('a timer that is late does not make the quiet a period longer', async () => {
  /** Timers as in reality: a little late. */
  class LateClock extends VirtualClock {
    override setTimer(delayMs: number, callback: () => void): CancelTimer {
      return super.setTimer(delayMs + 1, callback);
    }
  }
  const { clock, ends, periods } = resting((nowMs) => (nowMs < 20_000 ? 20_000 : 12_000), new LateClock());
  await clock.advance(40_000);
  assert.deepEqual(ends, [20.001, 35.002]);
  // The period was over, and its timer due.
  await clock.advance(10_002);
  assert.deepEqual(ends, [20.001, 35.002]);
  await clock.advance(0.5);
  periods.disturb();
  await clock.settle();
  await clock.advance(5_000);
  assert.deepEqual(ends, [20.001, 35.002, 50.0025]);
});
