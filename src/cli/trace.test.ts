import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podNameOf } from './trace.ts';
import { UserError } from './usage-error.ts';

test('a pod is named alone or behind its kind', () => {
  assert.deepEqual(['pod/web', 'pods/web', 'po/web', 'web'].map(podNameOf), ['web', 'web', 'web', 'web']);
  for (const word of ['deployment/web', 'pod/', '', 'pod/a/b', '/web'])
    assert.throws(
      () => podNameOf(word),
      (error) => error instanceof UserError && error.exitCode === 2,
      word,
    );
});
