import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compile } from './compile.ts';
import { createEnvironment } from './environment.ts';
import { withMutationTypes } from './mutation-types.ts';
import { DYN_TYPE } from './types/type.ts';

const environment = withMutationTypes(createEnvironment({ object: DYN_TYPE }));

test('fields of object literals have types of their own, at any depth', () => {
  for (const value of [
    '3',
    '3.5',
    'true',
    '"a"',
    'null',
    '[1, 2]',
    '{"a": 1}',
    'object.a + 4',
    'object.a == 1 ? 2 : 3',
  ]) {
    compile(`[JSONPatch{op: "add", path: "/a", value: ${value}}]`, { environment });
    compile(`Object{metadata: Object.metadata{name: "a", b: ${value}}, spec: Object.spec{x: 1, y: ${value}, z: "c"}}`, {
      environment,
    });
  }
});

test('lists and maps within object literals have one element type, as elsewhere', () => {
  for (const value of ['[1, "a"]', '{"a": 1, "b": "c"}', '[[1, true]]']) {
    for (const whole of [value, `JSONPatch{op: "add", value: ${value}}`, `Object{a: "b", c: Object.c{d: ${value}}}`])
      assert.throws(() => compile(whole, { environment }), /expected type '\w+' but found '\w+'/, whole);
  }
});
