/** Mutual exclusion by key, first come first served. Upstream: k8s.io/utils/keymutex. */

/** Runs at most one task per key at a time. */
export class KeyedMutex {
  /** Made for the first task: most never have one. */
  #tails: Map<string, Promise<void>> | undefined;

  /** Runs `task` once every earlier task of the key has ended, and settles as it does. */
  async run<T>(key: string, task: () => Promise<T> | T): Promise<T> {
    const tails = (this.#tails ??= new Map());
    const before = tails.get(key);
    const { promise: done, resolve: release } = Promise.withResolvers<void>();
    tails.set(key, done);
    if (before !== undefined) await before;
    try {
      return await task();
    } finally {
      if (tails.get(key) === done) tails.delete(key);
      release();
    }
  }

  /** Whether a task of this key runs or waits. */
  isBusy(key: string): boolean {
    return this.#tails?.has(key) === true;
  }
}
