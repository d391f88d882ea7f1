import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expand } from './expansion.ts';

test('references without an end stay as written, and their end is looked for once', (t) => {
  const text = `$(a)${'$('.repeat(1000)}`;
  const indexOf = t.mock.method(String.prototype, 'indexOf');
  const expanded = expand(text, () => 'v');
  const searches = indexOf.mock.callCount();
  indexOf.mock.restore();
  assert.equal(expanded, `v${'$('.repeat(1000)}`);
  assert.ok(searches < 10, `${searches} searches`);
});
