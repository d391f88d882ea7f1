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
  return new PromiseInHand<T>();
}

/** A class: an object literal with a getter takes four times the room. The methods can be handed on by themselves. */
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
