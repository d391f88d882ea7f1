/** Sets of numbers as intervals with both ends included: of addresses, of ports. All costs grow with n log n. */

/** From `first` to `last`, both included. */
export interface Interval {
  readonly first: bigint;
  readonly last: bigint;
}

/** The same numbers as intervals that neither overlap nor touch, in ascending order. */
export function joinIntervals(intervals: readonly Interval[]): Interval[] {
  const sorted = intervals.toSorted((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0));
  const joined: { first: bigint; last: bigint }[] = [];
  for (const { first, last } of sorted) {
    const before = joined.at(-1);
    if (before === undefined || first > before.last + 1n) joined.push({ first, last });
    else if (last > before.last) before.last = last;
  }
  return joined;
}

/** The parts of `whole` that no interval of `holes` covers. */
export function withoutIntervals(whole: Interval, holes: readonly Interval[]): Interval[] {
  const left: Interval[] = [];
  let at = whole.first;
  for (const { first, last } of joinIntervals(holes)) {
    if (first > whole.last) break;
    if (first > at) left.push({ first: at, last: first - 1n });
    if (last >= at) at = last + 1n;
  }
  if (at <= whole.last) left.push({ first: at, last: whole.last });
  return left;
}

/** The parts in both lists, neither of which has intervals that overlap or touch. */
export function commonIntervals(a: readonly Interval[], b: readonly Interval[]): Interval[] {
  const common: Interval[] = [];
  let inA = 0;
  let inB = 0;
  while (inA < a.length && inB < b.length) {
    const [one, other] = [a[inA]!, b[inB]!];
    const first = one.first > other.first ? one.first : other.first;
    const last = one.last < other.last ? one.last : other.last;
    if (first <= last) common.push({ first, last });
    if (one.last < other.last) inA++;
    else inB++;
  }
  return common;
}
