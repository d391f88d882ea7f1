import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findValues } from './json-path-search.ts';
import { JsonPathError, parseJsonPath, plainFields } from './json-path.ts';

const object = {
  metadata: { name: 'a', labels: { 'app.io/x': 'y' } },
  spec: { replicas: 3, list: [{ n: 1 }, { n: 2 }, { n: 3 }] },
  status: {
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Other', status: 'False' },
    ],
  },
};

const cases: [string, unknown[]][] = [
  ['.metadata.name', ['a']],
  ['{.metadata.name}', ['a']],
  ['$.spec.replicas', [3]],
  ['.metadata.labels.app\\.io/x', ['y']],
  ['.spec.list[0].n', [1]],
  ['.spec.list[-1].n', [3]],
  ['.spec.list[*].n', [1, 2, 3]],
  ['.spec.list[0:2].n', [1, 2]],
  ['.spec.list[0:3:2].n', [1, 3]],
  ['.spec.list[0:3:-1].n', []],
  ['.spec.list[0:3:0].n', []],
  ['.spec.list[0,2].n', [1, 3]],
  ['.spec.list[2, 0:2].n', [3, 1, 2]],
  [".metadata['name','nope']", ['a']],
  [".metadata.labels['app.io/x']", ['y']],
  ['.spec.list[?(@.n>=2)].n', [2, 3]],
  ['.status.conditions[?(@.type=="Ready")].status', ['True']],
  [".status.conditions[?(@.type=='None')].status", []],
  ['.spec..n', [1, 2, 3]],
  ['.spec.nope.deeper', []],
];

for (const [path, expected] of cases)
  test(path, () => assert.deepEqual(findValues(parseJsonPath(path), object), expected));

test('invalid paths are refused', () => {
  for (const bad of ['.a[', '.a[x]', '.a[0,x]', '.a[?(@.b == c)]', '.a]'])
    assert.throws(() => parseJsonPath(bad), JsonPathError, bad);
});

test('a path without indices is a list of fields', () => {
  assert.deepEqual(plainFields(parseJsonPath('.spec.replicas')), ['spec', 'replicas']);
  assert.equal(plainFields(parseJsonPath('.spec[0]')), undefined);
});

test('texts of a megabyte are parsed in linear time, and nesting is limited', () => {
  const quotes = `.a['x',${"\\'".repeat(300_000)}]`;
  assert.throws(() => parseJsonPath(quotes), JsonPathError);
  const members = parseJsonPath(`.a[${Array.from({ length: 100_000 }, () => "'x,\\'y'").join()}]`);
  assert.equal(members.steps.length, 2);
  const nested = (depth: number): string => `.a${'[?(@.a'.repeat(depth)}${')]'.repeat(depth)}`;
  assert.equal(parseJsonPath(nested(20)).steps.length, 2);
  assert.throws(() => parseJsonPath(nested(100_000)), { name: 'JsonPathError', message: /nested more than 20 deep/ });
});

test('a path that multiplies the values it selects selects none', () => {
  let deep: unknown = 1;
  for (let depth = 0; depth < 60; depth++) deep = [deep];
  for (const step of ['[0,0]', '[*,*]', '[0:1,0]', '..*', '[?(@[0,0][0,0])][0,0]'])
    assert.deepEqual(findValues(parseJsonPath(`${step.repeat(50)}.x`), deep), [], step);
  const wide = Array.from({ length: 20_000 }, () => ({ a: 1 }));
  assert.deepEqual(findValues(parseJsonPath(`${'[0,0]'.repeat(14)}[?(@.b)]`), [[[[[[[[[[[[[[wide]]]]]]]]]]]]]]), []);
  assert.deepEqual(findValues(parseJsonPath('[?(@.a)]'), wide).length, 20_000);
  assert.deepEqual(findValues(parseJsonPath('..a'), wide).length, 20_000);
});
