import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAccept } from './accept.ts';

test('clauses are sorted by quality, and clauses of quality 0 are left out', () => {
  const types = parseAccept('text/plain;q=0.5, application/json, */*;q=0.1, a/b;q=0').map(({ type }) => type);
  assert.deepEqual(types, ['application/json', 'text/plain', '*/*']);
});

test('at most a hundred clauses of a header are parsed', () => {
  assert.equal(parseAccept(','.repeat(60_000)).length, 100);
  const params = Array.from({ length: 10_000 }, (_, index) => `p${index}=1`).join(';');
  assert.ok(Object.keys(parseAccept(`application/json;${params}`)[0]!.params).length < 20);
});
