import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LivelockError } from './livelock-guard.ts';
import { VirtualClock } from './virtual-clock.ts';

test('timers fire in order at their own time; equal ones in the order they were set', async () => {
  const clock = new VirtualClock({ startMs: 1000 });
  const seen: [string, number][] = [];
  const note = (name: string) => () => void seen.push([name, clock.nowMs()]);
  clock.setTimer(20, note('b'));
  clock.setTimer(10, note('a'));
  clock.setTimer(20, note('c'));
  const cancel = clock.setTimer(15, note('never'));
  cancel();
  cancel();
  await clock.advance(19);
  assert.deepEqual(seen, [['a', 1010]]);
  await clock.advance(1);
  assert.deepEqual(seen, [
    ['a', 1010],
    ['b', 1020],
    ['c', 1020],
  ]);
  assert.equal(clock.monotonicMs(), 20);
});

test('long promise chains settle between timers', async () => {
  const clock = new VirtualClock();
  const seen: string[] = [];
  clock.setTimer(1, () => {
    void (async () => {
      for (let turn = 0; turn < 5000; turn++) await Promise.resolve();
      for (let turn = 0; turn < 50; turn++) await clock.yield();
      clock.setTimer(0, () => seen.push('late child of first'));
      seen.push('first');
    })();
  });
  clock.setTimer(2, () => seen.push('second'));
  await clock.advance(2);
  assert.deepEqual(seen, ['first', 'late child of first', 'second']);
});

test('time does not advance while a busy token is held', async () => {
  const clock = new VirtualClock();
  const seen: number[] = [];
  clock.setTimer(1, () => {
    const release = clock.holdBusy('real work');
    let turns = 0;
    const turn = (): void => {
      if (++turns < 20) return void setImmediate(turn);
      seen.push(clock.monotonicMs());
      release();
      release();
    };
    turn();
  });
  clock.setTimer(2, () => seen.push(clock.monotonicMs()));
  await clock.advance(5);
  assert.deepEqual(seen, [1, 2]);
});

test('the error names a token that is never released', async () => {
  const clock = new VirtualClock({ busyTimeoutMs: 5 });
  clock.holdBusy('a hung call');
  await assert.rejects(
    clock.advance(1),
    (error: Error) => error instanceof LivelockError && /a hung call/.test(error.message),
  );
});

test('a livelock is an error that names the culprit', async () => {
  const clock = new VirtualClock({ maxCallbacksPerInstant: 500 });
  const spinForever = (): void => void clock.setTimer(0, spinForever);
  spinForever();
  await assert.rejects(
    clock.advance(1),
    (error: Error) => error instanceof LivelockError && /spinForever/.test(error.message),
  );
});

test('a time with many timers is no livelock', async () => {
  const clock = new VirtualClock({ maxCallbacksPerInstant: 500 });
  let fired = 0;
  const again = (): void => {
    fired++;
    if (fired % 3 !== 0) clock.setTimer(0, again);
  };
  for (let timer = 0; timer < 1000; timer++) clock.setTimer(10, again);
  await clock.advance(10);
  assert.ok(fired > 1000);
});

test('much that was done at one instant by many moves is no livelock', async () => {
  const clock = new VirtualClock({ maxCallbacksPerInstant: 500 });
  let fired = 0;
  for (let move = 0; move < 10; move++) {
    for (let timer = 0; timer < 100; timer++) clock.setTimer(0, () => fired++);
    await clock.advance(0);
  }
  assert.equal(fired, 1000);
});

test('tickers beat at each period and stop', async () => {
  const clock = new VirtualClock();
  const beats: number[] = [];
  const stop = clock.setTicker(10, () => beats.push(clock.monotonicMs()));
  await clock.advance(35);
  stop();
  await clock.advance(100);
  assert.deepEqual(beats, [10, 20, 30]);
});

test('sleep resolves in time or rejects with the reason', async () => {
  const clock = new VirtualClock();
  await clock.drive(clock.sleep(40 * 24 * 3_600_000), Infinity);
  assert.equal(clock.monotonicMs(), 40 * 24 * 3_600_000);
  const controller = new AbortController();
  const sleeping = clock.sleep(10, controller.signal);
  controller.abort(new Error('enough'));
  await assert.rejects(sleeping, /enough/);
  await assert.rejects(clock.sleep(1, controller.signal), /enough/);
  assert.equal(clock.pendingTimers, 0);
});

test('runUntilIdle ignores tickers; runUntil reports why it cannot end', async () => {
  const clock = new VirtualClock();
  let done = false;
  clock.setTicker(1000, () => undefined);
  clock.setTimer(2500, () => (done = true));
  await clock.runUntilIdle();
  assert.equal(done, true);
  assert.equal(clock.monotonicMs(), 2500);
  await assert.rejects(
    clock.runUntil(() => false, 5000),
    /did not come about in 5000 ms/,
  );
  await assert.rejects(
    new VirtualClock().runUntil(() => false),
    /no timer is left/,
  );
});

test('errors of callbacks reject the advance; advances do not overlap', async () => {
  const clock = new VirtualClock();
  clock.setTimer(1, () => {
    throw new Error('broken');
  });
  const first = clock.advance(1);
  await assert.rejects(clock.advance(1), /being moved already/);
  await assert.rejects(first, /broken/);
  await clock.advance(1);
});

test('wall jumps reach the listeners and leave monotonic time alone', () => {
  const clock = new VirtualClock({ startMs: 0 });
  const jumps: number[] = [];
  const stop = clock.onWallJump((jumpMs) => jumps.push(jumpMs));
  clock.jumpWall(60_000);
  clock.jumpWall(500);
  stop();
  clock.jumpWall(-60_000);
  assert.deepEqual([jumps, clock.nowMs(), clock.monotonicMs()], [[60_000], 500, 0]);
});
