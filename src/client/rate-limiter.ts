/**
 * Rate limits of work queues. Upstream: client-go util/workqueue DefaultTypedControllerRateLimiter, flowcontrol token
 * buckets.
 */
import type { Clock } from '../platform/clock.ts';

/** Says how long a key that failed must wait. */
export interface RateLimiter<K> {
  /** Milliseconds to wait before the key's next try; counts a failure. */
  whenMs(key: K): number;
  forget(key: K): void;
  /** Failures since the last `forget`. */
  numRequeues(key: K): number;
}

/** A bucket of `burst` tokens, refilled at `perSecond`. */
export interface TokenBucket {
  /** Takes a token that may lie in the future; returns the milliseconds until it is there. */
  reserveMs(): number;
  /** Takes a token only when one is there now. */
  tryTake(): boolean;
  setRate(perSecond: number): void;
}

/** Makes a full bucket. A rate of 0 never refills. */
export function createTokenBucket(
  clock: Clock,
  rate: { readonly perSecond: number; readonly burst: number },
): TokenBucket {
  let { perSecond } = rate;
  let tokens = rate.burst;
  let lastMs = clock.monotonicMs();
  const refill = (): void => {
    const nowMs = clock.monotonicMs();
    tokens = Math.min(rate.burst, tokens + ((nowMs - lastMs) / 1000) * perSecond);
    lastMs = nowMs;
  };
  return {
    reserveMs() {
      refill();
      tokens -= 1;
      if (tokens >= 0) return 0;
      return perSecond > 0 ? (-tokens / perSecond) * 1000 : Number.POSITIVE_INFINITY;
    },
    tryTake() {
      refill();
      // Refilling adds fractions; a hair below one is one.
      if (tokens < 1 - 1e-9) return false;
      tokens -= 1;
      return true;
    },
    setRate(newPerSecond) {
      refill();
      perSecond = newPerSecond;
    },
  };
}

/** Delays that double per failure of a key: `baseMs`, 2 × `baseMs` … `maxMs`. */
export function createExponentialRateLimiter<K>(baseMs: number, maxMs: number): RateLimiter<K> {
  const failures = new Map<K, number>();
  return {
    whenMs(key) {
      const count = failures.get(key) ?? 0;
      failures.set(key, count + 1);
      return Math.min(baseMs * 2 ** count, maxMs);
    },
    forget: (key) => void failures.delete(key),
    numRequeues: (key) => failures.get(key) ?? 0,
  };
}

/** Upstream's default for controllers: 5 ms … 1000 s per key, and 10 per second (burst 100) over all keys. */
export function createControllerRateLimiter<K>(clock: Clock): RateLimiter<K> {
  const perKey = createExponentialRateLimiter<K>(5, 1_000_000);
  const overall = createTokenBucket(clock, { perSecond: 10, burst: 100 });
  return {
    whenMs: (key) => Math.max(perKey.whenMs(key), overall.reserveMs()),
    forget: (key) => perKey.forget(key),
    numRequeues: (key) => perKey.numRequeues(key),
  };
}
