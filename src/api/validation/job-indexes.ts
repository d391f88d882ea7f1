/** Indexes of a job as text: `0-2,5`. Upstream: apis/batch/validation validateIndexesFormat. */
import { quote } from '../../base/go-quote.ts';

/** Both ends are included. */
type Interval = readonly [first: number, last: number];

/** Parses an integer as Go's strconv.Atoi. */
function parseIndex(text: string, completions: number): number | string {
  if (!/^[+-]?\d+$/.test(text)) return `cannot convert string to integer for index: ${quote(text)}`;
  return Number(text) >= completions ? `too large index: ${quote(text)}` : Number(text);
}

/** The interval, or its error. */
function parseInterval(text: string, completions: number): Interval | string {
  const ends = text.split('-');
  if (ends.length > 2)
    return `the fragment ${quote(text)} violates the requirement that an index interval can have at most two parts separated by '-'`;
  const first = parseIndex(ends[0]!, completions);
  if (typeof first === 'string') return first;
  if (ends.length === 1) return [first, first];
  const last = parseIndex(ends[1]!, completions);
  if (typeof last === 'string') return last;
  return first >= last ? disorder(first, last) : [first, last];
}

function disorder(previous: number, current: number): string {
  return `non-increasing order, previous: ${previous}, current: ${current}`;
}

/** The number of indexes, or the error of the text. */
export function countIndexes(text: string, completions: number): number | string {
  if (text === '') return 0;
  let total = 0;
  let before: number | undefined;
  for (const part of text.split(',')) {
    const interval = parseInterval(part, completions);
    if (typeof interval === 'string') return interval;
    const [first, last] = interval;
    if (before !== undefined && before >= first) return disorder(before, first);
    total += last - first + 1;
    before = last;
  }
  return total;
}

/** The first index in both texts; malformed intervals are skipped. */
export function sharedIndex(completed: string, failed: string, completions: number): number | undefined {
  const [left, right] = [completed, failed].map((text) =>
    text
      .split(',')
      .map((part) => parseInterval(part, completions))
      .filter((interval): interval is Interval => typeof interval !== 'string'),
  ) as [Interval[], Interval[]];
  let other = 0;
  for (const [first, last] of left) {
    while (other < right.length && right[other]![1] < first) other++;
    const next = right[other];
    if (next !== undefined && next[0] <= last) return Math.max(first, next[0]);
  }
  return undefined;
}
