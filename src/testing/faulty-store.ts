/** A store in front of a real one that delays writes, fails them, or reports an error for a write that took effect. */
import type { Clock } from '../platform/clock.ts';
import type { Random } from '../platform/random.ts';
import { StoreError, type Store, type WriteResult } from '../storage/store.ts';

/** The current faults of the store. */
export interface StoreFaults {
  /** Writes are delayed by a random time up to this. */
  latencyMs: number;
  /** The fraction of writes that fail without effect, 0 to 1. */
  failRate: number;
  /** The fraction of writes that take effect and are reported as `unknownOutcome`. */
  unknownRate: number;
  /** The number of following writes that fail without effect. */
  failNext: number;
  /** The disk is full: all writes except deletions fail without effect. */
  full: boolean;
  /** All calls fail: the store is unreachable. */
  down: boolean;
}

export function noStoreFaults(): StoreFaults {
  return { latencyMs: 0, failRate: 0, unknownRate: 0, failNext: 0, full: false, down: false };
}

/** The store with faults in front of it. */
export function createFaultyStore(
  store: Store,
  faults: StoreFaults,
  deps: { readonly clock: Clock; readonly random: Random },
): Store {
  const { clock, random } = deps;
  const write = (work: () => Promise<WriteResult>): Promise<WriteResult> => (isFine(faults) ? work() : tried(work));
  const tried = async (work: () => Promise<WriteResult>): Promise<WriteResult> => {
    check();
    if (faults.latencyMs > 0) await clock.sleep(random.int(faults.latencyMs) + 1);
    check();
    if (faults.failNext > 0) {
      faults.failNext--;
      throw new StoreError('unavailable', 'the store is not available');
    }
    if (faults.failRate > 0 && random.next() < faults.failRate)
      throw new StoreError('unavailable', 'the store is not available');
    const result = await work();
    if (faults.unknownRate > 0 && random.next() < faults.unknownRate)
      throw new StoreError('unknownOutcome', 'the write may or may not have happened');
    return result;
  };
  const check = (): void => {
    if (faults.down) throw new StoreError('unavailable', 'the store is not available');
  };
  const { latestRevision, isStale, backup } = store;
  const full = (): StoreError => new StoreError('full', 'the disk of the store is full');
  return {
    async get(key) {
      check();
      return store.get(key);
    },
    async range(request) {
      check();
      return store.range(request);
    },
    put: (request) => (faults.full ? Promise.reject(full()) : write(() => store.put(request))),
    delete: (request) => write(() => store.delete(request)),
    watch: (range, watcher) => store.watch(range, watcher),
    compact: (revision) => store.compact(revision),
    status: () => store.status(),
    ...(latestRevision && {
      async latestRevision() {
        check();
        return latestRevision.call(store);
      },
    }),
    isStale: isStale && ((key) => isStale.call(store, key)),
    backup: backup && ((path) => backup.call(store, path)),
    close: () => store.close(),
  };
}

/** Whether writes are passed on unchanged. */
function isFine({ down, latencyMs, failNext, failRate, unknownRate }: StoreFaults): boolean {
  return !down && latencyMs === 0 && failNext === 0 && failRate === 0 && unknownRate === 0;
}
