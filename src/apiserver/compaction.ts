/**
 * Forgets old revisions: what was newest five minutes ago is the oldest kept. Upstream: storage/etcd3/compact.go.
 *
 * Differs: a period also ends when much was written, or writers would fill the disk with revisions within five minutes.
 *
 * Servers that share a store agree by a key (upstream's, so that its API server may be one of them): the server that changes it
 * since we last saw it has compacted for this period.
 */
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { Store } from '../storage/store.ts';
import type { CacheHub } from './watch-cache/cache-hub.ts';
import { background } from '../platform/unexpected.ts';

/** As upstream. */
export const COMPACTION_PERIOD_MS = 300_000;

/** A period also ends after this many bytes, so the store keeps at most twice as much of the past. */
export const COMPACTION_BYTES = 256 * 1024 * 1024;

const COMPACT_REV_KEY = 'compact_rev_key';

export interface CompactionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly caches: Pick<CacheHub, 'revision' | 'compacted' | 'onBytes'>;
}

/** Starts compacting. The returned function stops it. */
export function startCompaction(deps: CompactionDeps, periodMs: number = COMPACTION_PERIOD_MS): () => void {
  const { store, caches } = deps;
  const isOurTurn = store.latestRevision === undefined ? async () => true : createTurns(store);
  let before = 0;
  let running = false;
  const step = async (target: number): Promise<void> => {
    running = true;
    try {
      if ((await isOurTurn(target)) && target > 0) await store.compact(target);
      // Also when it is another server that compacts.
      caches.compacted(target);
    } catch (error) {
      deps.log.warn('compaction failed', { err: error, revision: target });
    } finally {
      running = false;
    }
  };
  let written = 0;
  const endPeriod = (): void => {
    if (running) return;
    written = 0;
    const target = before;
    before = caches.revision;
    background(deps.log, 'compaction broke off', step(target));
  };
  const stops = [
    deps.clock.setTicker(periodMs, endPeriod),
    caches.onBytes((bytes) => {
      written += bytes;
      if (written >= COMPACTION_BYTES) endPeriod();
    }),
  ];
  return () => stops.forEach((stop) => stop());
}

/** Writes the key at the revision it was last seen at. A server that finds it changed leaves this period to the other server. */
function createTurns(store: Store): (target: number) => Promise<boolean> {
  let seen: number | undefined;
  return async (target) => {
    if (seen === undefined) {
      seen = (await store.get(COMPACT_REV_KEY))?.modRevision ?? 0;
      return false;
    }
    const value = new TextEncoder().encode(String(target));
    const written = await store.put({ key: COMPACT_REV_KEY, value, expectRevision: seen });
    seen = written.ok ? written.revision : (written.current?.modRevision ?? 0);
    return written.ok;
  };
}
