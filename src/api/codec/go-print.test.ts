import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goPrint, goSyntax } from './go-print.ts';

test('values are printed as Go prints them', () => {
  const value = { b: ['x', 1, null, true, []], a: { c: 1.5 }, d: {} };
  assert.equal(goPrint(value), 'map[a:map[c:1.5] b:[x 1 <nil> true []] d:map[]]');
  assert.equal(
    goSyntax(value),
    'map[string]interface {}{"a":map[string]interface {}{"c":1.5}, "b":[]interface {}{"x", 1, interface {}(nil), true, []interface {}{}}, "d":map[string]interface {}{}}',
  );
});

test('a text that is too long is cut, and the rest of the value is not visited', () => {
  assert.equal(goPrint(['abc', 'def'], 9), '[abc def]');
  assert.equal(goPrint(['abc', 'def'], 8), '[abc def…');
  assert.equal(goPrint('abc', 2), 'ab…');
  assert.equal(goSyntax('a"c', 3), '"a\\…');
  assert.equal(goPrint({ abc: 1 }, 5), 'map[a…');
  let reads = 0;
  let deep: object = {};
  for (let level = 0; level < 900; level++)
    deep = Object.defineProperty({ a: 1, b: deep }, 'b', { get: ((inner) => () => (reads++, inner))(deep) });
  for (const print of [goPrint, goSyntax]) {
    reads = 0;
    assert.equal(print(deep, 500).length, 501);
    assert.ok(reads < 100, `${reads} reads`);
  }
});
