import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../sim/virtual-clock.ts';
import { createNodeClock } from './clock.ts';
import { createMemoryLog } from '../sim/log.ts';
import { createEventLoop, createNodeEventLoop } from './event-loop.ts';

test('a loop that is held reports about how long', async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const measurement = createNodeEventLoop(createNodeClock(createMemoryLog())).onHalt(
    (haltMs) => haltMs >= 300 && resolve(haltMs),
  );
  const keptAlive = setInterval(() => undefined, 100); // the monitor itself keeps no process
  setTimeout(() => {
    const endMs = performance.now() + 400;
    while (performance.now() < endMs);
  }, 200);
  assert.ok((await promise) >= 300);
  clearInterval(keptAlive);
  measurement.stop();
});

/** A loop with delays and times of activity that a test sets. */
function fixture() {
  const clock = new VirtualClock();
  const halts: number[] = [];
  const state = { isSampling: false, maxMs: 0, activeMs: 0 };
  const loop = createEventLoop({
    clock,
    activeMs: () => state.activeMs,
    createSampling: () => ({
      get max() {
        return (state.maxMs + 50) * 1e6;
      },
      enable: () => void (state.isSampling = true),
      disable: () => void (state.isSampling = false),
      reset: () => void (state.maxMs = 0),
    }),
  });
  const measurement = loop.onHalt((haltMs) => halts.push(Math.round(haltMs)));
  return { clock, halts, state, measurement };
}

test('sampling rests when the process does next to nothing, and wakes for expected work', async () => {
  const { clock, halts, state, measurement } = fixture();
  await clock.advance(10_000);
  assert.equal(state.isSampling, false);
  measurement.expectWork();
  assert.equal(state.isSampling, true);
  state.maxMs = 700;
  await clock.advance(1000);
  assert.deepEqual(halts, [700]);
  await clock.advance(20_000);
  assert.equal(state.isSampling, false);
  measurement.stop();
});

test('a resting measurement finds out that the loop was busy', async () => {
  const { clock, state, measurement } = fixture();
  await clock.advance(10_000);
  state.activeMs += 1000; // of 30,000
  await clock.advance(30_000);
  assert.equal(state.isSampling, false);
  state.activeMs += 2000;
  await clock.advance(30_000);
  assert.equal(state.isSampling, true);
  measurement.stop();
  assert.equal(state.isSampling, false);
});

test('neither expected work nor a busy loop pauses the sampling', async () => {
  const { clock, halts, state, measurement } = fixture();
  for (let second = 0; second < 30; second++) {
    if (second % 2 === 0) measurement.expectWork();
    else state.activeMs += 100;
    state.maxMs = second === 29 ? 20 : 5;
    await clock.advance(1000);
    assert.equal(state.isSampling, true);
  }
  assert.deepEqual(halts, [20]); // shorter ones are not reported
  measurement.stop();
});
