import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WeighedLru } from './weighed-lru.ts';

test('the oldest are dropped at the limits of weight and number; replaced and deleted entries weigh nothing', () => {
  const cache = new WeighedLru<string, number>(4, 640);
  for (const [index, key] of ['a', 'b', 'c', 'd'].entries()) cache.set(key, index, 10);
  assert.deepEqual([cache.size, cache.weight, cache.get('a')], [4, 40, 0]);
  cache.set('e', 4, 1);
  assert.deepEqual([cache.get('b'), cache.get('a'), cache.weight], [undefined, 0, 31]);
  cache.set('a', 5, 2);
  assert.deepEqual([cache.get('a'), cache.weight], [5, 23]);
  cache.delete('a');
  cache.delete('a');
  assert.deepEqual([cache.get('a'), cache.weight, cache.size], [undefined, 21, 3]);
});

test('an entry too heavy for the cache is not stored, and removes the entry of its key', () => {
  const cache = new WeighedLru<string, number>(1000, 640);
  cache.set('a', 1, 10);
  cache.set('a', 2, 11);
  assert.deepEqual([cache.get('a'), cache.weight], [undefined, 0]);
  for (let index = 0; index < 200; index++) cache.set(`x${index}`, index, 10);
  assert.deepEqual([cache.size, cache.weight, cache.get('x199'), cache.get('x135')], [64, 640, 199, undefined]);
});
