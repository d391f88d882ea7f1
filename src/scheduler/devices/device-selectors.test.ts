import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RuntimeError } from '../../api/cel/texts.ts';
import { deviceTest } from './device-selectors.ts';

test('a selector that costs too much ends early', () => {
  const numbers = `[${Array.from({ length: 100 }, (_, index) => index).join(',')}]`;
  const expression = ['a', 'b', 'c', 'd'].reduceRight((body, name) => `${numbers}.all(${name}, ${body})`, 'a + d >= 0');
  const selects = deviceTest([{ cel: { expression } }]);
  assert.throws(
    () => selects('gpu.example', { name: 'd' }),
    (error) => error instanceof RuntimeError && error.costExceeded,
  );
});
