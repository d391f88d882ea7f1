import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffLines } from './line-diff.ts';

const marked = (before: string, after: string): readonly string[] =>
  diffLines(before.replaceAll(' ', '\n'), after.replaceAll(' ', '\n')).map(({ mark, text }) => mark + text);

test('common lines occur once, lines of one text have its mark', () => {
  assert.deepEqual(marked('a b c', 'a b c'), [' a', ' b', ' c']);
  assert.deepEqual(marked('a b c', 'a x c'), [' a', '-b', '+x', ' c']);
  assert.deepEqual(marked('a b c d', 'b x d e'), ['-a', ' b', '-c', '+x', ' d', '+e']);
  assert.deepEqual(marked('a a', 'a'), [' a', '-a']);
});

test('both texts can be restored from a difference, also when they are too long to compare', () => {
  const long = (seed: number): string => Array.from({ length: 3000 }, (_, i) => `${(i * seed) % 7}`).join('\n');
  for (const [a, b] of [
    ['', 'x'],
    ['a\nb\na\nc', 'c\na\nb'],
    [`s\n${long(2)}\ne`, `s\n${long(3)}\nf`],
  ] as const) {
    const lines = diffLines(a, b);
    const side = (mark: string): string =>
      lines
        .filter((one) => one.mark === ' ' || one.mark === mark)
        .map(({ text }) => text)
        .join('\n');
    assert.equal(side('-'), a);
    assert.equal(side('+'), b);
  }
});
