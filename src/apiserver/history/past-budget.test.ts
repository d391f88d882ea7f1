/** Many readers of an object's past at one instant. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { ByteBudget, LIST_LIMITS } from '../flowcontrol/byte-budget.ts';
import { withinPastBudget } from './past-budget.ts';

const MIB = 1024 * 1024;

test('so many read the past at one time as fit into the budget of lists, and each makes room at its end', async () => {
  const clock = new VirtualClock();
  const lists = new ByteBudget(clock, LIST_LIMITS);
  const scope = {
    user: { name: 'jane', groups: [] },
    request: {},
    waitFor: <T>(waiting: Promise<T>): Promise<T> => waiting,
  };
  const call = { store: { services: { lists } }, scope } as unknown as Parameters<typeof withinPastBudget>[0];
  let [now, most] = [0, 0];
  const read = (): Promise<void> =>
    withinPastBudget(call, 8 * MIB, async () => {
      most = Math.max(most, ++now);
      await new Promise<void>((resolve) => clock.setTimer(1, resolve));
      now--;
    });
  const reading = Promise.allSettled(Array.from({ length: 100 }, read));
  await clock.advance(100);
  const results = await reading;
  const refused = results.filter(({ status }) => status === 'rejected');
  assert.equal(most, LIST_LIMITS.ownBytes / (8 * MIB));
  assert.equal(refused.length, 100 - most - LIST_LIMITS.maxWaiting);
  assert.equal(lists.bytes, 0);
});
