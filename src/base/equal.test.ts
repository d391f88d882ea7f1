import assert from 'node:assert/strict';
import { test } from 'node:test';

import { deepEqual } from './equal.ts';

const own = JSON.parse('{"__proto__":{}}') as object;

const cases: readonly (readonly [a: unknown, b: unknown, same: boolean])[] = [
  [{ a: 1, b: [1, { c: 'x' }] }, { b: [1, { c: 'x' }], a: 1 }, true],
  [{ a: 1 }, { a: 2 }, false],
  [{ a: 1 }, { a: 1, b: 2 }, false],
  [{ a: 1 }, { b: 1 }, false],
  [{ a: 1, b: undefined }, { a: 1 }, true],
  [{ a: 1, b: undefined }, { a: 1, c: undefined }, true],
  [{ a: 1, b: undefined }, { a: 1, c: 2 }, false],
  [{ a: undefined, b: 1 }, { a: 1, b: 1 }, false],
  [{ a: null }, {}, false],
  [{}, { toString: 'x' }, false],
  [{ constructor: {} }, {}, false],
  [own, {}, false],
  [own, JSON.parse('{"__proto__":{}}'), true],
  [[1, 2], [1, 2], true],
  [[1, 2], [2, 1], false],
  [[1], [1, 1], false],
  [[], {}, false],
  [{ a: Number.NaN }, { a: Number.NaN }, true],
  [null, {}, false],
  ['', 0, false],
];

test('plain values are equal when their JSON is, so absent and undefined fields are equal', () => {
  for (const [a, b, same] of cases) {
    assert.equal(deepEqual(a, b), same, `${JSON.stringify(a)} and ${JSON.stringify(b)}`);
    assert.equal(deepEqual(b, a), same, `${JSON.stringify(b)} and ${JSON.stringify(a)}`);
  }
});
