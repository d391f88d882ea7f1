import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PastRows, mergeRows } from './past-rows.ts';

test('unchanged and replaced rows are merged in the order of keys', () => {
  const replaced = new Map([
    ['z', 9],
    ['a', 1],
    ['m', 5],
  ]);
  const unchanged = [
    ['b', 2],
    ['n', 3],
  ] as const;
  assert.deepEqual(mergeRows(unchanged, replaced), { keys: ['a', 'b', 'm', 'n', 'z'], rows: [1, 2, 5, 3, 9] });
});

test('further pages of a range need no second search, earlier keys and other revisions do', () => {
  const past = new PastRows();
  let looked = 0;
  const find = () => {
    looked++;
    return { keys: ['b', 'd', 'f'], rows: [2, 4, 6] };
  };
  const ask = (start: string, revision: number) => past.rows({ start, end: 'z', revision }, find);
  assert.deepEqual(ask('b', 7), { rows: [2, 4, 6], from: 0 });
  assert.equal(ask('c', 7).from, 1);
  assert.equal(ask('d', 7).from, 1);
  assert.equal(ask('d\0', 7).from, 2);
  assert.equal(ask('g', 7).from, 3);
  assert.equal(looked, 1);
  ask('a', 7);
  assert.equal(looked, 2);
  ask('b', 8);
  assert.equal(looked, 3);
  for (let revision = 10; revision < 20; revision++) ask('b', revision);
  ask('b', 7);
  assert.equal(looked, 14);
});
