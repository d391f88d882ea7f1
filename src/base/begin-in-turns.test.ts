import assert from 'node:assert/strict';
import { test } from 'node:test';
import { beginInTurns } from './begin-in-turns.ts';

test('a fixed number starts per turn without waiting for their ends, and results keep their order', async () => {
  let inTurn = 0;
  let most = 0;
  let open = 0;
  const pause = async (): Promise<void> => {
    inTurn = 0;
    await Promise.resolve();
  };
  const ends: (() => void)[] = [];
  const begin = (item: number): Promise<number> => {
    most = Math.max(most, ++inTurn);
    open++;
    return new Promise((resolve) => ends.push(() => resolve(item * 2)));
  };
  const items = Array.from({ length: 1000 }, (_, at) => at);
  const all = beginInTurns(items, begin, { perTurn: 100, pause });
  while (open < items.length) await Promise.resolve();
  for (const end of ends.toReversed()) end();
  assert.deepEqual(
    await all,
    items.map((item) => item * 2),
  );
  assert.equal(most, 100);
});

test('a failure before all have begun is the result', async () => {
  const failing = async (item: number): Promise<never> => {
    throw new Error(`no ${item}`);
  };
  const turns = { perTurn: 1, pause: () => Promise.resolve() };
  await assert.rejects(beginInTurns([1, 2, 3], failing, turns), /no 1/);
});
