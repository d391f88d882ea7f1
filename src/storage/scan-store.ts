/**
 * Reads a whole range of any store in pages at one revision, so that the range is not in memory twice. Upstream: the
 * reflector's chunked lists.
 */
import type { ScanPage, ScanRange, Store } from './store.ts';

/**
 * Reads everything in [start, end) at one revision, to which it resolves. Pages come in any order; the next is read
 * after one was taken (SQLite's worker may be a few ahead). Rejects as `range` does, with `compacted` when the
 * revision is compacted before the last page.
 */
export async function scanStore(store: Store, range: ScanRange, onPage: (page: ScanPage) => void): Promise<number> {
  if (store.scan !== undefined) return store.scan(range, onPage);
  const { start, end, pageEntries = 10_000 } = range;
  const first = await store.range({ start, end, limit: pageEntries });
  const { revision } = first;
  for (let { entries } = first; ;) {
    onPage({ entries });
    const last = entries.at(-1);
    if (last === undefined || entries.length < pageEntries) return revision;
    ({ entries } = await store.range({ start: `${last.key}\0`, end, limit: pageEntries, revision }));
  }
}
