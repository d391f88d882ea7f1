/** Orders rows by a column: numbers, durations and quantities by value, texts alphabetically. */
import { sortValue } from '../../api/cell-value.ts';
import type { Row } from '../../api/table.ts';
import type { ShownColumn } from './columns.ts';

export interface Sort {
  readonly column: string;
  readonly descending: boolean;
}

/** `name`, or `-age` for descending order. */
export function parseSort(text: string): Sort {
  return text.startsWith('-') ? { column: text.slice(1), descending: true } : { column: text, descending: false };
}

export function sortText({ column, descending }: Sort): string {
  return `${descending ? '-' : ''}${column}`;
}

/** A comparison of rows by a column, which computes each row's value once. */
export function comparing({ role, cell }: ShownColumn, descending: boolean): (a: Row, b: Row) => number {
  const known = new WeakMap<Row, number | string>();
  const valueOf = (row: Row): number | string => {
    let value = known.get(row);
    if (value === undefined) {
      value = role === 'age' ? -row.createdMs : sortValue(cell(row));
      known.set(row, value);
    }
    return value;
  };
  const sign = descending ? -1 : 1;
  return (a, b) => sign * compareValues(valueOf(a), valueOf(b));
}

function compareValues(a: number | string, b: number | string): number {
  if (a === b) return 0;
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
  return a < b ? -1 : 1;
}
