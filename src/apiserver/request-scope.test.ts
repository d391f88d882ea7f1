import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestScope } from './request-scope.ts';

function createScope(): RequestScope {
  return new RequestScope({
    request: {},
    info: {},
    params: new URLSearchParams(),
    user: { name: 'a', groups: [] },
  } as never);
}

test('warnings are kept in their order, each once', () => {
  const scope = createScope();
  assert.deepEqual(scope.warnings, []);
  for (const text of ['b', 'a', 'b', 'c', 'a']) scope.addWarning(text);
  assert.deepEqual(scope.warnings, ['b', 'a', 'c']);
});

test('warnings beyond the limit of a response are dropped', () => {
  const scope = createScope();
  for (let index = 0; index < 10_000; index++) scope.addWarning(`spec.containers[0].env[${index}]`);
  assert.equal(scope.warnings.length, 4096);
});
