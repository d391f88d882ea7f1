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

test('a controller of upstream that is not built here may be turned off, and is refused with the reason', () => {
  assert.deepEqual(selectControllers('*,-service,-selinux-warning-controller', known), known);
  assert.throws(() => selectControllers('*,service', known), {
    message:
      '"service" is not built into this controller manager: load balancers come from a cloud, whose own controller manager runs it',
  });
});

test('every early name leads to a controller there is', () => {
  for (const early of [
    'attachdetach',
    'cloud-node-lifecycle',
    'endpoint',
    'horizontalpodautoscaling',
    'pvc-protection',
    'resource-claim-controller',
    'storage-version-gc',
    'tokencleaner',
    'ttl',
  ])
    assert.equal(selectControllers(early, Object.keys(controllers)).length, 1, early);
});
