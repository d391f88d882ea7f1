/** A store that is slow, fails, or answers a write that it did with an error: in front of a real one, which keeps its promises. */
import type { Clock } from '../platform/clock.ts';
import type { Random } from '../platform/random.ts';
import { StoreError, type Store, type WriteResult } from '../storage/store.ts';

/** What is wrong with the store now. */
export interface StoreFaults {
  /** Writes take up to so long, at random. */
  latencyMs: number;
  /** Part of the writes that fail without effect, 0 to 1. */
  failRate: number;
  /** Part of the writes that take effect and yet are answered with `unknownOutcome`. */
  unknownRate: number;
  /** This many writes from now on fail without effect. */
  failNext: number;
  /** Its disk is full: writes but deletions fail without effect. */
  full: boolean;
  /** Everything fails: the store is away. */
  down: boolean;
}

/** Nothing wrong. */
export function noStoreFaults(): StoreFaults {
  return { latencyMs: 0, failRate: 0, unknownRate: 0, failNext: 0, full: false, down: false };
}

/** The store behind its faults. */
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

/** Whether writes are as the store does them. */
function isFine({ down, latencyMs, failNext, failRate, unknownRate }: StoreFaults): boolean {
  return !down && latencyMs === 0 && failNext === 0 && failRate === 0 && unknownRate === 0;
}
