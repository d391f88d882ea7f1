import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findValues, JsonPathError, parseJsonPath, plainFields } from './json-path.ts';

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

test('what is no path is refused', () => {
  for (const bad of ['.a[', '.a[x]', '.a[0,x]', '.a[?(@.b == c)]', '.a]'])
    assert.throws(() => parseJsonPath(bad), JsonPathError, bad);
});

test('a path without indices is a list of fields', () => {
  assert.deepEqual(plainFields(parseJsonPath('.spec.replicas')), ['spec', 'replicas']);
  assert.equal(plainFields(parseJsonPath('.spec[0]')), undefined);
});
