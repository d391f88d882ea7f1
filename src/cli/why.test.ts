import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UserError } from './usage-error.ts';
import { podName } from './why.ts';

test('pod/NAME, pods/NAME and NAME all name a pod', () => {
  for (const target of ['pod/web', 'pods/web', 'po/web', 'web']) assert.equal(podName(target), 'web');
  for (const target of ['deployment/web', 'pod/', 'a/b/c', ''])
    assert.throws(
      () => podName(target),
      (error) => error instanceof UserError && error.exitCode === 2,
      target,
    );
});
