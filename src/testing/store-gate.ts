/**
 * A gate between one incarnation of the API server and the store: after `cut`, calls of an ended server do not reach the store.
 */
import { StoreError, type Store, type WriteResult } from '../storage/store.ts';

export interface StoreGate {
  readonly store: Store;
  /** Makes every further call fail. */
  cut(): void;
  /** Cuts when the `count`th write from now has reached the store and before its response is delivered; then calls `callback`. */
  cutAfterWrites(count: number, callback: () => void): void;
}

const closed = (): Promise<never> =>
  Promise.reject(new StoreError('unavailable', 'the connection to the store is closed'));

/** Creates a gate in front of a store that is a plain object. */
export function gateStore(store: Store): StoreGate {
  let isCut = false;
  let armed: { left: number; callback: () => void } | undefined;
  const write = (call: () => Promise<WriteResult>): Promise<WriteResult> => {
    if (isCut) return closed();
    return armed === undefined ? call() : counted(call);
  };
  const counted = async (call: () => Promise<WriteResult>): Promise<WriteResult> => {
    const result = await call();
    if (armed !== undefined && --armed.left <= 0) {
      const { callback } = armed;
      armed = undefined;
      isCut = true;
      callback();
    }
    return isCut ? closed() : result;
  };
  const { latestRevision } = store;
  return {
    store: {
      ...store,
      get: (key) => (isCut ? closed() : store.get(key)),
      range: (request) => (isCut ? closed() : store.range(request)),
      put: (request) => write(() => store.put(request)),
      delete: (request) => write(() => store.delete(request)),
      ...(latestRevision && { latestRevision: () => (isCut ? closed() : latestRevision.call(store)) }),
    },
    cut: () => (isCut = true),
    cutAfterWrites(count, callback) {
      armed = { left: count, callback };
    },
  };
}
