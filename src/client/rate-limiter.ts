/**
 * Rate limits of work queues. Upstream: client-go util/workqueue DefaultTypedControllerRateLimiter, flowcontrol token
 * buckets.
 */
import type { Clock } from '../platform/clock.ts';

/** Computes how long a failed key must wait. */
export interface RateLimiter<K> {
  /** Milliseconds to wait before the key's next try; counts a failure. */
  whenMs(key: K): number;
  forget(key: K): void;
  /** Failures since the last `forget`. */
  numRequeues(key: K): number;
}

/** A bucket of `burst` tokens, refilled at `perSecond`. */
export interface TokenBucket {
  /** Takes a token that may become available later; returns the milliseconds until then. */
  reserveMs(): number;
  /** Takes a token only if one is available now. */
  tryTake(): boolean;
  setRate(perSecond: number): void;
}

/** Makes a full bucket. A rate of 0 never refills. */
export function createTokenBucket(
  clock: Clock,
  rate: { readonly perSecond: number; readonly burst: number },
): TokenBucket {
  return new RefilledBucket(clock, rate);
}

/** A class: event correlation has one for each object. */
class RefilledBucket implements TokenBucket {
  readonly #clock: Clock;
  readonly #burst: number;
  #perSecond: number;
  #tokens: number;
  #lastMs: number;

  constructor(clock: Clock, { perSecond, burst }: { readonly perSecond: number; readonly burst: number }) {
    this.#clock = clock;
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#tokens = burst;
    this.#lastMs = clock.monotonicMs();
  }

  reserveMs(): number {
    this.#refill();
    this.#tokens -= 1;
    if (this.#tokens >= 0) return 0;
    return this.#perSecond > 0 ? (-this.#tokens / this.#perSecond) * 1000 : Number.POSITIVE_INFINITY;
  }

  tryTake(): boolean {
    this.#refill();
    // Refilling adds fractions; rounding may leave one slightly below 1.
    if (this.#tokens < 1 - 1e-9) return false;
    this.#tokens -= 1;
    return true;
  }

  setRate(perSecond: number): void {
    this.#refill();
    this.#perSecond = perSecond;
  }

  #refill(): void {
    const nowMs = this.#clock.monotonicMs();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((nowMs - this.#lastMs) / 1000) * this.#perSecond);
    this.#lastMs = nowMs;
  }
}

/** Delays that double per failure of a key: `baseMs`, 2 × `baseMs` … `maxMs`. */
function createExponentialRateLimiter<K>(baseMs: number, maxMs: number): RateLimiter<K> {
  const failures = new Map<K, number>();
  return {
    whenMs(key) {
      const count = failures.get(key) ?? 0;
      failures.set(key, count + 1);
      return Math.min(baseMs * 2 ** count, maxMs);
    },
    forget: (key) => failures.delete(key),
    numRequeues: (key) => failures.get(key) ?? 0,
  };
}

/** Upstream's default for controllers: 5 ms … 1000 s per key, and 10 per second (burst 100) over all keys. */
export function createControllerRateLimiter<K>(clock: Clock, maxMs = 1_000_000): RateLimiter<K> {
  const perKey = createExponentialRateLimiter<K>(5, maxMs);
  const overall = createTokenBucket(clock, { perSecond: 10, burst: 100 });
  return {
    whenMs: (key) => Math.max(perKey.whenMs(key), overall.reserveMs()),
    forget: (key) => perKey.forget(key),
    numRequeues: (key) => perKey.numRequeues(key),
  };
}
