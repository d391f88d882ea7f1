import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { RunningClock } from './running-clock.ts';

/** `real` is the clock of the machine; an advance by 1,000 ms takes `costMs` of it. */
function start(speed: number, costMs = 0) {
  const real = new VirtualClock();
  const moves: number[] = [];
  const log = createMemoryLog();
  let fails = false;
  const moved = {
    async advance(ms: number): Promise<void> {
      if (fails) throw new Error('time is held');
      moves.push(ms);
      if (costMs > 0 && ms > 0) await real.sleep((costMs * ms) / 1000);
    },
  };
  const clock = new RunningClock({ moved, real, log }, speed);
  void clock.start();
  const movedMs = (): number => Math.round(moves.reduce((sum, ms) => sum + ms, 0));
  return { real, clock, moves, movedMs, log, fail: (now: boolean) => (fails = now) };
}

test('time runs at the requested speed, and the reached speed is measured', async () => {
  const { real, clock, movedMs } = start(1000);
  await real.advance(10_000);
  // The first advances are short, until their duration is known.
  const movedFirst = movedMs();
  assert.ok(movedFirst > 9_900_000 && movedFirst <= 10_000_000, `${movedFirst}`);
  assert.deepEqual(clock.state, { paused: false, speed: 1000, reached: 1000 });
  clock.setSpeed(10);
  await real.advance(10_000);
  assert.equal(movedMs() - movedFirst, 100_000);
});

test('a paused clock stands, and a step lets its duration pass', async () => {
  const { real, clock, movedMs, moves } = start(1);
  void clock.pause();
  await real.advance(60_000);
  assert.equal(movedMs(), 0);
  assert.ok(moves.length > 0, 'what can be done at an instant is done');
  clock.step(86_400_000);
  await real.advance(10_000);
  assert.equal(movedMs(), 86_400_000);
  assert.equal(clock.state.paused, true);
  clock.run();
  await real.advance(5000);
  assert.equal(movedMs(), 86_405_000);
});

test('a pause ends an advance in progress before it resolves', async () => {
  const { real, clock, movedMs } = start(1, 100_000);
  await real.advance(20);
  let stands = false;
  const paused = clock.pause().then(() => (stands = true));
  await real.advance(100);
  assert.equal(stands, false);
  await real.advance(60_000);
  await paused;
  const stoodAt = movedMs();
  assert.ok(stoodAt > 0, `${stoodAt}`);
  await real.advance(60_000);
  assert.equal(movedMs(), stoodAt);
});

test('a pause waits for at most ten simulated seconds, however far the clock is advanced', async () => {
  const { real, clock, moves } = start(10_000);
  await real.advance(2000);
  await clock.pause();
  assert.equal(Math.max(...moves), 10_000);
});

test('a pause, and a run, end the current step', async () => {
  const { real, clock, movedMs } = start(1, 100);
  void clock.pause();
  for (const end of [() => void clock.pause(), () => (clock.run(), void clock.pause())]) {
    clock.step(86_400_000);
    await real.advance(1000);
    end();
    await real.advance(1200);
    const stoodAt = movedMs();
    await real.advance(60_000);
    assert.equal(movedMs(), stoodAt);
  }
});

test('on a slow machine advances stay short, so that a pause takes effect', async () => {
  const { real, clock, moves, movedMs } = start(1_000_000, 100);
  await real.advance(60_000);
  const last = moves.slice(-50);
  assert.ok(Math.max(...last) <= 1000, `${Math.max(...last)} ms`);
  const { reached } = clock.state;
  assert.ok(reached > 5 && reached <= 10, `${reached}`);
  void clock.pause();
  await real.advance(200);
  const stoodAt = movedMs();
  await real.advance(10_000);
  assert.equal(movedMs(), stoodAt);
});

test('a failure to advance is logged once, and time advances later', async () => {
  const { real, movedMs, log, fail, clock } = start(1);
  fail(true);
  await real.advance(1000);
  assert.deepEqual(
    log.entries.map(({ message }) => message),
    ['simulated time could not move on'],
  );
  fail(false);
  const before = movedMs();
  await real.advance(1000);
  assert.equal(movedMs() - before, 1000);
  clock.stop();
  await real.advance(1000);
  assert.equal(movedMs() - before, 1000);
});
