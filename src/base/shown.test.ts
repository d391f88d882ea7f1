import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shown } from './shown.ts';

test('every value has a text', () => {
  const values: readonly unknown[] = [
    'a',
    1,
    9_007_199_254_740_993n,
    null,
    undefined,
    { toString: 0 },
    { a: [9_007_199_254_740_993n] },
  ];
  assert.deepEqual(values.map(shown), [
    'a',
    '1',
    '"9007199254740993"',
    'null',
    '',
    '{"toString":0}',
    '{"a":["9007199254740993"]}',
  ]);
  assert.equal(shown(['x'.repeat(1000)]).length, 200);
});
