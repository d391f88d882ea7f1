import assert from 'node:assert/strict';
import { test } from 'node:test';
import { piecesOf } from './pieces.ts';

const span = (start: number, end: number, classes: string) => ({ start, end, classes });
const pieces = (text: string, spans: ReturnType<typeof span>[], query: string, from = 0, to = text.length) =>
  piecesOf({ text, spans }, { from, to, query }).map((piece) => [piece.text, piece.classes, piece.marked]);

test('a line is cut where colours and matches begin and end', () => {
  assert.deepEqual(pieces('abc', [], ''), [['abc', '', false]]);
  assert.deepEqual(pieces('', [], ''), []);
  assert.deepEqual(pieces('abcdef', [span(1, 4, 'x')], 'cde'), [
    ['a', '', false],
    ['b', 'x', false],
    ['cd', 'x', true],
    ['e', '', true],
    ['f', '', false],
  ]);
  assert.deepEqual(pieces('abcdef', [span(1, 4, 'x')], 'cde', 3, 5), [
    ['d', 'x', true],
    ['e', '', true],
  ]);
});
