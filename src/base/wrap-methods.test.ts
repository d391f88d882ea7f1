import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wrapMethods } from './wrap-methods.ts';

test('methods are wrapped once, at their first use; other values are unchanged', () => {
  const asked: string[] = [];
  const service = wrapMethods({ size: 3, double: (value: number) => 2 * value, never: () => 0 }, (name, method) => {
    asked.push(name);
    return (...values) => (method(...values) as number) + 1;
  });
  assert.equal(service.double(4), 9);
  assert.equal(service.double(5), 11);
  assert.equal(service.size, 3);
  assert.deepEqual(asked, ['double']);
  assert.equal({ ...service }.never(), 1);
});
