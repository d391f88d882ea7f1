import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settleFewAtATime } from './settle-few.ts';

test('a few of thousands of tasks run at a time, each after a pause, and an error ends only its own task', async () => {
  let [running, most, pauses, done] = [0, 0, 0, 0];
  const all = Array.from({ length: 2000 }, (_, at) => async (): Promise<void> => {
    most = Math.max(most, ++running);
    assert.equal(pauses > at, true, `piece ${at} began after ${pauses} pauses`);
    await Promise.resolve();
    running--;
    if (at === 7 || at === 9) throw new Error(`no ${at}`);
    done++;
  });
  const failed = await settleFewAtATime(all, async () => {
    pauses++;
    await Promise.resolve();
  });
  assert.deepEqual([done, pauses, String(failed?.error)], [1998, 2000, 'Error: no 7']);
  assert.equal(most <= 16, true, `${most} at a time`);
  assert.equal(await settleFewAtATime([], () => undefined), undefined);
});
