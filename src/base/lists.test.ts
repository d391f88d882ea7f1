import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appendAll, largest, smallest } from './lists.ts';

test('lists longer than a call can have arguments', () => {
  const numbers = Array.from({ length: 300_000 }, (_, at) => at);
  const list = [-1];
  appendAll(list, numbers);
  assert.deepEqual([list.length, list.at(-1)], [300_001, 299_999]);
  assert.deepEqual([largest(numbers), smallest(numbers)], [299_999, 0]);
});

test('without values, or with one beyond them', () => {
  assert.deepEqual([largest([]), largest([], 0), smallest([]), smallest([], 5)], [-Infinity, 0, Infinity, 5]);
  assert.deepEqual([largest([1, 3], 2), largest([1], 2), smallest([1, 3], 2), smallest([3], 2)], [3, 2, 1, 2]);
});
