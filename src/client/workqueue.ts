/**
 * The queue between informers and workers. Upstream: client-go util/workqueue (Typed, Delaying and RateLimiting in one).
 *
 * Invariants: a key waits at most once; a key being processed is handed to nobody else, and when it was added meanwhile
 * it comes back after `done`; delayed adds keep the earliest time.
 */
import type { CancelTimer, Clock } from '../platform/clock.ts';
import type { Metrics } from '../platform/metrics.ts';
import { createControllerRateLimiter, type RateLimiter } from './rate-limiter.ts';
import { createWorkqueueMetrics } from './workqueue-metrics.ts';

/** A deduplicating queue of keys. */
export interface WorkQueue<K> {
  add(key: K): void;
  /** Adds after `delayMs`; an earlier time set before wins. */
  addAfter(key: K, delayMs: number): void;
  /** Adds after the rate limiter's delay and counts a failure. */
  addRateLimited(key: K): void;
  /** Clears the key's failures. */
  forget(key: K): void;
  numRequeues(key: K): number;
  /** The next key, or undefined once the queue is shut down and empty. Call `done` when it is processed. */
  get(): Promise<K | undefined>;
  done(key: K): void;
  /** Keys that wait (without delayed ones and those in process). */
  length(): number;
  /** Refuses further keys; waiting ones still come out. */
  shutDown(): void;
  /** `shutDown`, then resolves when everything handed out is done. */
  shutDownWithDrain(): Promise<void>;
}

/** Dependencies and options of a queue. */
export interface WorkQueueDeps<K> {
  /** For metrics; upstream's name of the queue. */
  readonly name: string;
  readonly clock: Clock;
  readonly metrics?: Metrics;
  readonly rateLimiter?: RateLimiter<K>;
}

export function createWorkQueue<K>(deps: WorkQueueDeps<K>): WorkQueue<K> {
  const { clock } = deps;
  const limiter = deps.rateLimiter ?? createControllerRateLimiter<K>(clock);
  const metrics = createWorkqueueMetrics(deps.name, clock, deps.metrics);
  // Sets keep insertion order: `waiting` is the queue, `dirty` what must be (re)processed.
  const waiting = new Set<K>();
  const dirty = new Set<K>();
  const processing = new Set<K>();
  const delayed = new Map<K, { readonly dueMs: number; readonly cancel: CancelTimer }>();
  const getters: ((key: K | undefined) => void)[] = [];
  let drained: (() => void)[] = [];
  let shuttingDown = false;

  function add(key: K): void {
    if (shuttingDown || dirty.has(key)) return;
    metrics.added(key);
    dirty.add(key);
    if (processing.has(key)) return;
    enqueue(key);
  }
  function enqueue(key: K): void {
    const getter = getters.shift();
    if (getter !== undefined) return getter(handOut(key));
    waiting.add(key);
    metrics.depth(waiting.size);
  }
  function handOut(key: K): K {
    waiting.delete(key);
    dirty.delete(key);
    processing.add(key);
    metrics.started(key, waiting.size);
    return key;
  }
  function settle(): void {
    if (!shuttingDown || waiting.size > 0) return;
    for (const getter of getters.splice(0)) getter(undefined);
    if (processing.size > 0) return;
    for (const resolve of drained.splice(0)) resolve();
    drained = [];
  }
  function addAfter(key: K, delayMs: number): void {
    if (shuttingDown) return;
    if (delayMs <= 0) return add(key);
    const dueMs = clock.monotonicMs() + delayMs;
    const earlier = delayed.get(key);
    if (earlier !== undefined && earlier.dueMs <= dueMs) return;
    earlier?.cancel();
    const cancel = clock.setTimer(delayMs, () => {
      delayed.delete(key);
      add(key);
    });
    delayed.set(key, { dueMs, cancel });
  }
  function shutDown(): void {
    shuttingDown = true;
    for (const entry of delayed.values()) entry.cancel();
    delayed.clear();
    metrics.closed();
    settle();
  }

  return {
    add,
    addAfter,
    addRateLimited(key) {
      metrics.retried();
      addAfter(key, limiter.whenMs(key));
    },
    forget: (key) => limiter.forget(key),
    numRequeues: (key) => limiter.numRequeues(key),
    get() {
      metrics.opened();
      const [first] = waiting;
      if (waiting.size > 0) return Promise.resolve(handOut(first as K));
      if (shuttingDown) return Promise.resolve(undefined);
      return new Promise((resolve) => getters.push(resolve));
    },
    done(key) {
      processing.delete(key);
      metrics.finished(key);
      if (dirty.has(key)) enqueue(key);
      settle();
    },
    length: () => waiting.size,
    shutDown,
    shutDownWithDrain() {
      return new Promise((resolve) => {
        drained.push(resolve);
        shutDown();
      });
    },
  };
}
