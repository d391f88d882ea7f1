/** Forgets old revisions: what was newest five minutes ago is the oldest kept. Upstream: storage/etcd3/compact.go. */
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { Store } from '../storage/store.ts';

/** As upstream. */
export const COMPACTION_PERIOD_MS = 300_000;

/** What compaction needs. */
export interface CompactionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** The newest revision now. */
  readonly revision: () => number;
}

/** Starts compacting; the result stops it. */
export function startCompaction(deps: CompactionDeps, periodMs: number = COMPACTION_PERIOD_MS): () => void {
  let before = 0;
  return deps.clock.setTicker(periodMs, () => {
    const target = before;
    before = deps.revision();
    if (target <= 0) return;
    deps.store
      .compact(target)
      .catch((error: unknown) => deps.log.warn('compaction failed', { err: error, revision: target }));
  });
}
