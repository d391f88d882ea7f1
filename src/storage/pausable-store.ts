/** A store whose writes can be paused while its content moves to another one. */
import { createDeferred, type Deferred } from '../base/deferred.ts';
import { type Store, StoreError, type WriteResult } from './store.ts';

/** The store for users, and the control of its writes. */
export interface PausableStore {
  readonly store: Store;
  /** Pauses writes from now on. Resolves when those in progress have ended. */
  pause(): Promise<void>;
  /** Executes the waiting writes, or refuses them permanently because another store has taken over. */
  release(outcome: 'go on' | 'refuse'): void;
}

export function createPausableStore(inner: Store): PausableStore {
  let gate: Deferred<void> | undefined;
  const underWay = new Set<Promise<unknown>>();
  const write = async (work: () => Promise<WriteResult>): Promise<WriteResult> => {
    while (gate !== undefined) await gate.promise;
    const working = work();
    underWay.add(working);
    try {
      return await working;
    } finally {
      underWay.delete(working);
    }
  };
  const { scan, latestRevision, backup } = inner;
  const store: Store = {
    get: (key) => inner.get(key),
    range: (request) => inner.range(request),
    put: (request) => write(() => inner.put(request)),
    delete: (request) => write(() => inner.delete(request)),
    watch: (range, watcher) => inner.watch(range, watcher),
    compact: (revision) => inner.compact(revision),
    status: () => inner.status(),
    changeLog: inner.changeLog,
    close: () => inner.close(),
  };
  if (scan !== undefined) store.scan = (range, onPage) => scan.call(inner, range, onPage);
  if (latestRevision !== undefined) store.latestRevision = () => latestRevision.call(inner);
  if (backup !== undefined) store.backup = (path) => backup.call(inner, path);
  return {
    store,
    async pause() {
      gate ??= createDeferred<void>();
      gate.promise.catch(() => undefined); // without waiting writes there is no handler
      await Promise.allSettled(underWay);
    },
    release(outcome) {
      const closed = gate;
      if (outcome === 'go on') {
        gate = undefined;
        closed?.resolve();
      } else closed?.reject(new StoreError('unavailable', 'the state has moved to another store; try again'));
    },
  };
}
