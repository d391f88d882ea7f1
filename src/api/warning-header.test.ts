import assert from 'node:assert/strict';
import { test } from 'node:test';
import { warningTexts } from './warning-header.ts';

test('all warnings of a header are parsed, whatever their texts contain', () => {
  assert.deepEqual(warningTexts(''), []);
  assert.deepEqual(warningTexts('299 - "one"'), ['one']);
  assert.deepEqual(warningTexts(String.raw`299 - "a \"b\", \\ c", 299 - "two"`), [String.raw`a "b", \ c`, 'two']);
  assert.deepEqual(warningTexts(Buffer.from('299 - "ü"').toString('latin1')), ['ü']);
});
