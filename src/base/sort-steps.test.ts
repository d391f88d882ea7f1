/** A sort in steps yields the order of a stable sort, with pauses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sortSteps } from './sort-steps.ts';
import { allSteps } from './steps.ts';

const compare = (a: readonly number[], b: readonly number[]): number => a[0]! - b[0]!;

test('equal elements keep their order, in lists of any length', () => {
  for (const length of [0, 1, 2, 4095, 4096, 4097, 20_000, 40_961]) {
    const list = Array.from({ length }, (_, at) => [(at * 7919) % 101, at]);
    assert.deepEqual(allSteps(sortSteps(list, compare)), list.toSorted(compare));
  }
});

test('a long list needs many steps, a short one a few', () => {
  const stepsOf = (length: number): number => {
    const steps = sortSteps(
      Array.from({ length }, (_, at) => [at % 13, at]),
      compare,
    );
    let count = 0;
    while (steps.next().done !== true) count++;
    return count;
  };
  assert.equal(stepsOf(10), 1);
  assert.ok(stepsOf(100_000) > 50);
});
