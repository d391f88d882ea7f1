import assert from 'node:assert/strict';
import { test } from 'node:test';
import { controllers } from './list.ts';
import { selectControllers } from './selection.ts';

const known = ['deployment-controller', 'job-controller', 'namespace-controller'];
const rows: [list: string, names: string[]][] = [
  ['*', known],
  ['', []],
  ['job-controller', ['job-controller']],
  ['*,-job', ['deployment-controller', 'namespace-controller']],
  ['namespace, deployment', ['deployment-controller', 'namespace-controller']],
  ['-job-controller', []],
];
for (const [list, names] of rows)
  test(`--controllers ${list || "''"}`, () => assert.deepEqual(selectControllers(list, known), names));

test('an unknown name is refused', () => {
  assert.throws(() => selectControllers('*,-jobs', known), {
    message: '"jobs" is not in the list of known controllers',
  });
  assert.throws(() => selectControllers('constructor', known), /not in the list/);
});

test('every early name leads to a controller there is', () => {
  for (const early of ['attachdetach', 'endpoint', 'horizontalpodautoscaling', 'pvc-protection', 'tokencleaner'])
    assert.equal(selectControllers(early, Object.keys(controllers)).length, 1, early);
});
