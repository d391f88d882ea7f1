/** The error of an invalid time in the words of Go's time.Parse: the first part of the layout that does not match. */
import { quote } from '../../base/go-quote.ts';

/** A part of a layout: its text, and the pattern that a value must match there. Ranges are checked after the pattern. */
interface LayoutPart {
  readonly layout: string;
  readonly text: RegExp;
  readonly range?: readonly [name: string, from: number, to: number];
}

const DIGITS: LayoutPart['text'] = /^\d\d/;
const literal = (text: string): LayoutPart => ({ layout: text, text: new RegExp(`^${text}`) });

const DATE: readonly LayoutPart[] = [
  { layout: '2006', text: /^\d{4}/ },
  literal('-'),
  { layout: '01', text: DIGITS, range: ['month', 1, 12] },
  literal('-'),
  { layout: '02', text: DIGITS },
  literal('T'),
  { layout: '15', text: DIGITS, range: ['hour', 0, 23] },
  literal(':'),
  { layout: '04', text: DIGITS, range: ['minute', 0, 59] },
  literal(':'),
];
const SECOND: LayoutPart = { layout: '05', text: DIGITS, range: ['second', 0, 59] };
/** A layout without a fraction accepts any fraction of the seconds. */
const WHOLE_SECOND: LayoutPart = { ...SECOND, text: /^\d\d(?:[.,]\d+)?/ };
const MICROSECONDS: LayoutPart = { layout: '.000000', text: /^[.,]\d{6}/ };
const ZONE: LayoutPart = { layout: 'Z07:00', text: /^(?:Z|[+-]\d\d:\d\d)/ };

const LAYOUTS: Readonly<Record<0 | 6, readonly LayoutPart[]>> = {
  0: [...DATE, WHOLE_SECOND, ZONE],
  6: [...DATE, SECOND, MICROSECONDS, ZONE],
};

/** The error of an invalid time for a layout with this many digits of fraction. */
export function timeFault(value: string, digits: 0 | 6): string {
  const parts = LAYOUTS[digits];
  const layout = parts.map((part) => part.layout).join('');
  let rest = value;
  for (const { layout: name, text, range } of parts) {
    const found = text.exec(rest)?.[0];
    if (found === undefined)
      return `parsing time ${quote(value)} as ${quote(layout)}: cannot parse ${quote(rest)} as ${quote(name)}`;
    const amount = Number.parseInt(found, 10);
    if (range !== undefined && (amount < range[1] || amount > range[2]))
      return `parsing time ${quote(value)}: ${range[0]} out of range`;
    rest = rest.slice(found.length);
  }
  if (rest !== '') return `parsing time ${quote(value)}: extra text: ${quote(rest)}`;
  return `parsing time ${quote(value)}: day out of range`;
}
