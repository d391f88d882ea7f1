/**
 * Reads a whole range of any store in pages of one revision, so that what is being read need not be in memory twice.
 * Upstream: the reflector's chunked lists.
 */
import type { ScanPage, ScanRange, Store } from './store.ts';

/**
 * Hands over everything in [start, end) at one revision and resolves to that revision; pages come in any order, the next
 * is read when one was taken (SQLite's worker may be a few ahead). Rejects as
 * `range` does, with `compacted` when the revision was compacted before the last page was read.
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
