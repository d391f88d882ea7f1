import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LineCutter } from './log-lines.ts';

const cutAll = (pieces: readonly string[], longest: number): readonly (readonly [string, number])[] => {
  const cutter = new LineCutter(longest);
  const lines = [...pieces.flatMap((piece) => cutter.cut(piece)), ...cutter.end()];
  return lines.map(({ text, dropped }) => [text, dropped]);
};

test('lines are the same wherever the text is cut into pieces', () => {
  const text = 'one\n\nthree is long\nfour';
  const whole = cutAll([text], 100);
  assert.deepEqual(whole, [
    ['one', 0],
    ['', 0],
    ['three is long', 0],
    ['four', 0],
  ]);
  for (let at = 0; at <= text.length; at++) assert.deepEqual(cutAll([text.slice(0, at), text.slice(at)], 100), whole);
  assert.deepEqual(cutAll(text.split(''), 100), whole);
});

test('a long line keeps its first characters and the number of the missing ones', () => {
  for (const pieces of [['abcdefgh\nij'], 'abcdefgh\nij'.split(''), ['abcd', 'efgh', '\nij']])
    assert.deepEqual(cutAll(pieces, 5), [
      ['abcde', 3],
      ['ij', 0],
    ]);
  assert.deepEqual(cutAll(['x'.repeat(1000), 'x'.repeat(1000)], 10), [['x'.repeat(10), 1990]]);
});
