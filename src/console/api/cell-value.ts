/** The values of table cells for sorting: numbers, fractions, durations, quantities. */
import type { Cell } from './table.ts';

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
  // A count such as `3 (5m ago)`, or a fraction such as `1/2`.
  const leading = /^(\d+)(?: \(.*\)|\/\d+)?$/.exec(text);
  if (leading !== null) return Number(leading[1]);
  const duration = DURATION.exec(text);
  if (duration !== null && !/^\d+m$/.test(text)) return secondsOf(duration);
  const quantity = /^(\d+(?:\.\d+)?)([numkMGTP]|[KMGTP]i)?$/.exec(text);
  if (quantity !== null && !/^\d+m$/.test(text)) return Number(quantity[1]) * UNITS[quantity[2] ?? '']!;
  // `5m` is a duration in most columns and a thousandth in others; within one column either reading has the same order.
  return /^\d+m$/.test(text) ? Number.parseInt(text, 10) * 60 : text.toLowerCase();
}

function secondsOf([, years = '0', days = '0', hours = '0', minutes = '0', seconds = '0']: RegExpExecArray): number {
  return (((Number(years) * 365 + Number(days)) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
}
