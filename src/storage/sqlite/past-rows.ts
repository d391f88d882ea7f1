/**
 * The newest rows at a past revision. They never change, so those found for one page of a list are kept for its next
 * pages: finding them walks over all keys of the range.
 */
import { Lru } from '../../base/lru.ts';
import { compareKeys } from '../key-order.ts';

/** Keys with the revisions of their rows, in the order of the keys. */
export interface RowsAtRevision {
  readonly keys: readonly string[];
  readonly rows: readonly number[];
}

interface CachedRows extends RowsAtRevision {
  readonly start: string;
}

/** The number of kept ranges: slightly more than are usually read concurrently. */
const KEPT_RANGES = 4;

/** The rows of some ranges. */
export class PastRows {
  readonly #kept = new Lru<string, CachedRows>(KEPT_RANGES);

  /** Revisions of the rows in [start, end), the first of them at `from`. `find` is called when they are not kept. */
  rows(
    { start, end, revision }: { start: string; end: string; revision: number },
    find: () => RowsAtRevision,
  ): { rows: readonly number[]; from: number } {
    const name = `${revision} ${end}`;
    const cached = this.#kept.get(name);
    if (cached !== undefined && compareKeys(cached.start, start) <= 0)
      return { rows: cached.rows, from: indexOf(cached.keys, start) };
    const rowsAtRevision = find();
    this.#kept.set(name, { ...rowsAtRevision, start });
    return { rows: rowsAtRevision.rows, from: 0 };
  }
}

/** The index of the first key that is not before this one. */
function indexOf(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareKeys(keys[middle]!, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Merges unchanged rows, in key order, with those that later changes have replaced or deleted. */
export function mergeRows(
  unchanged: Iterable<readonly [key: string, row: number]>,
  replaced: ReadonlyMap<string, number>,
): RowsAtRevision {
  const before = [...replaced].sort(([a], [b]) => compareKeys(a, b));
  const keys: string[] = [];
  const rows: number[] = [];
  const add = ([key, row]: readonly [string, number]): void => {
    keys.push(key);
    rows.push(row);
  };
  let next = 0;
  for (const entry of unchanged) {
    while (next < before.length && compareKeys(before[next]![0], entry[0]) < 0) add(before[next++]!);
    add(entry);
  }
  while (next < before.length) add(before[next++]!);
  return { keys, rows };
}
