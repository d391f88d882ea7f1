/** The order of rows by a column: numbers, durations and quantities by what they mean, texts by their letters. */
import type { Row, Cell } from '../../api/table.ts';
import type { ShownColumn } from './columns.ts';

export interface Sort {
  readonly column: string;
  readonly descending: boolean;
}

/** `name`, or `-age` for the other way round. */
export function parseSort(text: string): Sort {
  return text.startsWith('-') ? { column: text.slice(1), descending: true } : { column: text, descending: false };
}

export function sortText({ column, descending }: Sort): string {
  return `${descending ? '-' : ''}${column}`;
}

/** Compares rows by a column; each row's value is read once. */
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

const DURATION = /^(?=\d)(?:(\d+)y)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/;
const UNITS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};

export function sortValue(cell: Cell): number | string {
  if (typeof cell === 'number') return cell;
  const text = String(cell ?? '');
  // `3 (5m ago)`, and a share such as `1/2`.
  const leading = /^(\d+)(?: \(.*\)|\/\d+)?$/.exec(text);
  if (leading !== null) return Number(leading[1]);
  const duration = DURATION.exec(text);
  if (duration !== null && !/^\d+m$/.test(text)) return secondsOf(duration);
  const quantity = /^(\d+(?:\.\d+)?)([numkMGTP]|[KMGTP]i)?$/.exec(text);
  if (quantity !== null && !/^\d+m$/.test(text)) return Number(quantity[1]) * UNITS[quantity[2] ?? '']!;
  // `5m` is a time in most columns, and a thousandth in others: alike in order within a column of either.
  return /^\d+m$/.test(text) ? Number.parseInt(text, 10) * 60 : text.toLowerCase();
}

function secondsOf([, years = '0', days = '0', hours = '0', minutes = '0', seconds = '0']: RegExpExecArray): number {
  return (((Number(years) * 365 + Number(days)) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
}
