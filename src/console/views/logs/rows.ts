/** Maps lines of a log to rows: long lines are wrapped, so a row shows a line or a part of one. */
import type { LogLine } from './log-buffer.ts';
import { rowCount } from './wrapping.ts';

/** The visible lines in order, with numbers that stay the same when older lines are dropped. */
export interface ShownLines {
  readonly length: number;
  at(index: number): LogLine;
  numberOf(index: number): number;
  /** The index of the first line with at least this number. */
  indexFrom(number: number): number;
}

export interface RowTable {
  readonly rows: number;
  /** The first row of a line; for the index after the last line, the number of rows. */
  rowOf(index: number): number;
  /** The line that a row shows a part of. */
  lineAt(row: number): number;
}

/** A table in which every line is one row. */
export function singleRows({ length }: ShownLines): RowTable {
  return { rows: length, rowOf: (index) => Math.min(index, length), lineAt: (row) => row };
}

export interface Wrapping {
  readonly columns: number;
  /** The number of columns before the text in a line's first row. */
  readonly indent: number;
}

/** Row counts of lines with the same measures are cached, so that only new lines are wrapped. */
const counted = new WeakMap<LogLine, { readonly key: number; readonly rows: number }>();

export function wrappedRows(lines: ShownLines, { columns, indent }: Wrapping): RowTable {
  const starts = new Int32Array(lines.length + 1);
  const key = columns * 1000 + indent;
  for (let index = 0; index < lines.length; index++)
    starts[index + 1] = starts[index]! + rowsOf(lines.at(index), { columns, indent, key });
  return {
    rows: starts[lines.length]!,
    rowOf: (index) => starts[Math.min(index, lines.length)]!,
    lineAt: (row) => lineAt(starts, row),
  };
}

function rowsOf(line: LogLine, { columns, indent, key }: Wrapping & { readonly key: number }): number {
  if (line.plain) return rowCount(line.text, { columns, indent, plain: true });
  const known = counted.get(line);
  if (known?.key === key) return known.rows;
  const rows = rowCount(line.text, { columns, indent, plain: false });
  counted.set(line, { key, rows });
  return rows;
}

function lineAt(starts: Int32Array, row: number): number {
  let low = 0;
  let high = starts.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= row) low = middle;
    else high = middle - 1;
  }
  return low;
}
