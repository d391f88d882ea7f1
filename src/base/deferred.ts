/** A promise with its `resolve` and `reject`. */

/** A promise that someone else settles. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T | PromiseLike<T>): void;
  reject(reason: unknown): void;
  /** Whether `resolve` or `reject` was called. */
  readonly settled: boolean;
}

/** Settling it a second time does nothing. */
export function createDeferred<T>(): Deferred<T> {
  return new PromiseInHand<T>();
}

/**
 * A class: an object literal with a getter takes four times the memory. The methods may be passed on without the
 * object.
 */
class PromiseInHand<T> implements Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T | PromiseLike<T>) => void;
  readonly reject: (reason: unknown) => void;
  #settled = false;

  constructor() {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.promise = promise;
    this.resolve = (value) => {
      this.#settled = true;
      resolve(value);
    };
    this.reject = (reason) => {
      this.#settled = true;
      reject(reason);
    };
  }

  get settled(): boolean {
    return this.#settled;
  }
}
