/**
 * Sets of completion indexes, stored as intervals: an index costs nothing when its neighbours are in the set, so a
 * job of 2147483647 completions costs as much as its status text and its pods. Immutable.
 */

/** First and last index, both included. */
export type Interval = readonly [first: number, last: number];

/** A set of non-negative indexes. */
export class IndexSet {
  static readonly EMPTY = new IndexSet([]);
  /** Sorted; between two intervals is at least one index outside the set. */
  readonly intervals: readonly Interval[];
  readonly size: number;

  private constructor(intervals: readonly Interval[]) {
    this.intervals = intervals;
    this.size = intervals.reduce((size, [first, last]) => size + last - first + 1, 0);
  }

  /**
   * The indexes of all intervals, in any order and possibly overlapping. An interval whose last is below its first is
   * empty.
   */
  static of(intervals: Iterable<Interval>): IndexSet {
    const sorted = [...intervals].filter(([first, last]) => first <= last).sort(([a], [b]) => a - b);
    const merged: [number, number][] = [];
    for (const [first, last] of sorted) {
      const before = merged.at(-1);
      if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
      else merged.push([first, last]);
    }
    return merged.length === 0 ? IndexSet.EMPTY : new IndexSet(merged);
  }

  has(index: number): boolean {
    let low = 0;
    let high = this.intervals.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.intervals[middle]![1] < index) low = middle + 1;
      else high = middle;
    }
    return low < this.intervals.length && this.intervals[low]![0] <= index;
  }

  with(indexes: Iterable<number>): IndexSet {
    const added = [...indexes];
    return added.length === 0 ? this : this.union(IndexSet.of(added.map((index) => [index, index] as const)));
  }

  union(other: IndexSet): IndexSet {
    if (other.size === 0) return this;
    return this.size === 0 ? other : IndexSet.of([...this.intervals, ...other.intervals]);
  }

  minus(other: IndexSet): IndexSet {
    if (this.size === 0 || other.size === 0) return this;
    return IndexSet.of(shared(this.intervals, [...other.gaps(Infinity)]));
  }

  /** How many indexes are in both. */
  sharedWith(other: IndexSet): number {
    let count = 0;
    for (const [first, last] of shared(this.intervals, other.intervals)) count += last - first + 1;
    return count;
  }

  /** The intervals below `limit` that are not in the set, in order. */
  *gaps(limit: number): Iterable<Interval> {
    let next = 0;
    for (const [first, last] of this.intervals) {
      if (next >= limit) return;
      if (next < first) yield [next, Math.min(first, limit) - 1];
      next = last + 1;
    }
    if (next < limit) yield [next, limit - 1];
  }
}

/** The common parts of two lists of ordered, separate intervals. */
function* shared(left: readonly Interval[], right: readonly Interval[]): Iterable<Interval> {
  for (let l = 0, r = 0; l < left.length && r < right.length;) {
    const first = Math.max(left[l]![0], right[r]![0]);
    const last = Math.min(left[l]![1], right[r]![1]);
    if (first <= last) yield [first, last];
    if (left[l]![1] < right[r]![1]) l++;
    else r++;
  }
}
