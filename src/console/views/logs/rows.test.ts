import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogLine } from './log-buffer.ts';
import { type ShownLines, singleRows, wrappedRows } from './rows.ts';
import { isPlainWidth } from './wrapping.ts';

function shown(texts: readonly string[]): ShownLines {
  const lines = texts.map((text, index): LogLine => {
    return { source: 0, timeMs: index, text, spans: [], plain: isPlainWidth(text) };
  });
  return { length: lines.length, at: (i) => lines[i]!, numberOf: (i) => i, indexFrom: (number) => number };
}

test('each row maps to its line, and each line to its first row', () => {
  const lines = shown(['abcdefgh', '', '漢字漢字', 'x']);
  const wrapped = wrappedRows(lines, { columns: 4, indent: 1 });
  assert.equal(wrapped.rows, 8);
  assert.deepEqual([0, 1, 2, 3, 4].map(wrapped.rowOf), [0, 3, 4, 7, 8]);
  assert.deepEqual([0, 1, 2, 3, 4, 5, 6, 7].map(wrapped.lineAt), [0, 0, 0, 1, 2, 2, 2, 3]);
  assert.equal(wrappedRows(lines, { columns: 8, indent: 0 }).rows, 4);
  assert.deepEqual([singleRows(lines).rows, singleRows(lines).lineAt(2), singleRows(lines).rowOf(9)], [4, 2, 4]);
  assert.equal(wrappedRows(shown([]), { columns: 4, indent: 0 }).rows, 0);
});
