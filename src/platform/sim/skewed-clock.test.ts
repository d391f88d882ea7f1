import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSkewedClock } from './skewed-clock.ts';
import { VirtualClock } from './virtual-clock.ts';

test('the clock of one machine is skewed: it has its own wall time and jumps, timers are common', async () => {
  const world = new VirtualClock({ startMs: 1_000_000 });
  const machine = createSkewedClock(world);
  const jumps: number[] = [];
  const leave = machine.onWallJump((ms) => jumps.push(ms));
  machine.setSkew(60_000);
  assert.deepEqual([machine.nowMs() - world.nowMs(), machine.monotonicMs()], [60_000, world.monotonicMs()]);
  machine.setSkew(60_500);
  machine.setSkew(-5000);
  world.jumpWall(7000);
  assert.deepEqual(jumps, [60_000, -65_500, 7000]);
  let fired = 0;
  machine.setTimer(10, () => void fired++);
  await world.advance(10);
  assert.equal(fired, 1);
  leave();
  machine.setSkew(0);
  world.jumpWall(7000);
  assert.equal(jumps.length, 3);
});
