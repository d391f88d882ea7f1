/** Formats the numbers of a chart, and chooses the ticks of its axis. */
import type { Chart } from '../../../api/charts.ts';
import { bytesText, coresText } from '../../parts/amounts.ts';

const numbers = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const times = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const exactTimes = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

export function amountText(unit: Chart['unit'], value: number): string {
  switch (unit) {
    case 'cores':
      return value === 0 ? '0' : value < 0.001 ? '<1m' : coresText(value);
    case 'bytes':
      return bytesText(value);
    case 'bytesPerSecond':
      return `${bytesText(value)}/s`;
    case 'perSecond':
      return `${numbers.format(value)}/s`;
    case 'seconds':
      return value < 1 ? `${numbers.format(value * 1000)} ms` : `${numbers.format(value)} s`;
    case 'count':
      return numbers.format(value);
  }
}

/** `seconds` since 1970, in the browser's time zone. */
export function timeText(seconds: number): string {
  return times.format(seconds * 1000);
}

export function exactTimeText(seconds: number): string {
  return exactTimes.format(seconds * 1000);
}

/** The distances between ticks: powers of two for bytes, whole numbers for restarts and requests. */
export function marksOf(unit: Chart['unit']): number[] | undefined {
  if (unit === 'count')
    return [1, 2, 5]
      .flatMap((digit) => [0, 1, 2, 3, 4, 5, 6].map((power) => digit * 10 ** power))
      .sort((a, b) => a - b);
  if (unit === 'bytes' || unit === 'bytesPerSecond') return Array.from({ length: 50 }, (_, power) => 2 ** power);
  return undefined;
}
