/** A table as text, for people. Pure. */
import { largest } from '../base/lists.ts';

/** Rows, the first of them the head, with their cells below one another. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => largest(rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map((row) => `${row.map((cell, column) => cell.padEnd((widths[column] ?? 0) + 3)).join('')}`.trimEnd())
    .map((line) => `${line}\n`)
    .join('');
}
