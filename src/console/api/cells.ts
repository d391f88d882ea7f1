/** Cells of a row by the names of their columns. */
import type { Cell, Column, Row } from './table.ts';

/** Reads the cells of a column as text; '' where the table has no such column. */
export function cellReader(columns: readonly Column[], name: string): (row: Row) => string {
  const at = columns.findIndex((column) => column.name === name);
  return ({ cells }) => textOf(cells[at]);
}

function textOf(cell: Cell | undefined): string {
  return cell === null || cell === undefined ? '' : String(cell);
}
