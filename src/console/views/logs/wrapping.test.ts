import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isPlainWidth, rowCount, rowStarts } from './wrapping.ts';

const rows = (text: string, columns: number, indent = 0): readonly string[] =>
  rowStarts(text, columns, indent).map((start, index, starts) => text.slice(start, starts[index + 1]));

test('rows have the requested number of columns', () => {
  assert.deepEqual(rows('', 4), ['']);
  assert.deepEqual(rows('abcd', 4), ['abcd']);
  assert.deepEqual(rows('abcdefghi', 4), ['abcd', 'efgh', 'i']);
  assert.deepEqual(rows('abcdefghi', 4, 3), ['a', 'bcde', 'fghi']);
  assert.deepEqual(rows('漢字漢', 4), ['漢字', '漢']);
  assert.deepEqual(rows('a漢字', 4), ['a漢', '字']);
  assert.deepEqual(rows('e\u0301e\u0301e\u0301', 2), ['e\u0301e\u0301', 'e\u0301']);
  assert.deepEqual(rows('👩👩', 2), ['👩', '👩']);
});

test('the number of rows matches the cuts, and no character is lost', () => {
  const texts = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }));
  fc.assert(
    fc.property(texts, fc.integer({ min: 2, max: 9 }), fc.nat(1), (text, columns, indent) => {
      assert.equal(rows(text, columns, indent).join(''), text);
      const plain = isPlainWidth(text);
      assert.equal(rowCount(text, { columns, indent, plain }), rows(text, columns, indent).length);
    }),
  );
});
