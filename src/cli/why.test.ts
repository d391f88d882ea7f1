import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UserError } from './usage-error.ts';
import { parseTargets } from './why/targets.ts';

test('objects are named as KIND/NAME or KIND NAME, and kinds without a name select all objects', () => {
  assert.deepEqual(parseTargets(['pod/web'], false), [{ kind: 'pod', name: 'web' }]);
  assert.deepEqual(parseTargets(['deploy', 'a', 'b'], false), [
    { kind: 'deploy', name: 'a' },
    { kind: 'deploy', name: 'b' },
  ]);
  assert.deepEqual(parseTargets(['pod/a', 'svc/b'], false), [
    { kind: 'pod', name: 'a' },
    { kind: 'svc', name: 'b' },
  ]);
  assert.deepEqual(parseTargets(['pods'], true), [{ kind: 'pods' }]);
  for (const [words, all] of [
    [['web'], false],
    [['pod/'], false],
    [['/web'], false],
    [['a/b/c'], false],
    [['pod', 'a/b'], false],
    [[''], false],
    [['pods', 'web'], true],
    [['pod/web'], true],
  ] as const)
    assert.throws(
      () => parseTargets(words, all),
      (error) => error instanceof UserError && error.exitCode === 2,
      words.join(' '),
    );
});
