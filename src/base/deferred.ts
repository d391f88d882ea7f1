/** A promise with its two ends in hand. */

/** A promise that someone else settles. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T | PromiseLike<T>): void;
  reject(reason: unknown): void;
  /** Whether `resolve` or `reject` was called. */
  readonly settled: boolean;
}

/** Makes a deferred; settling it again does nothing. */
export function createDeferred<T>(): Deferred<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let settled = false;
  return {
    promise,
    resolve(value) {
      settled = true;
      resolve(value);
    },
    reject(reason) {
      settled = true;
      reject(reason);
    },
    get settled() {
      return settled;
    },
  };
}
