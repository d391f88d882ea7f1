/**
 * Feeds all watch caches from one watch on the store. One scan at the start fills them all; a prefix added later (a
 * custom resource) is read separately. Upstream has a reflector per resource (Cacher.startCaching).
 *
 * Invariants: `revision` never decreases and all caches have reached it; a write by this process is in the caches
 * before the store resolves it, so that its writer reads it at once.
 *
 * When several servers share the store (etcd), a list without resourceVersion asks the store for its revision first:
 * `generic-registry/freshness.ts`.
 */
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { callEach } from '../../platform/unexpected.ts';
import { scanStore } from '../../storage/scan-store.ts';
import { prefixEnd, type Store, StoreError, type StoreEvent, type StoreWatch } from '../../storage/store.ts';
import { RememberedBytes } from './remembered-bytes.ts';
import { type ChangeRecorder, WatchCache } from './watch-cache.ts';
import { appendAll } from '../../base/lists.ts';

/** Root of all keys. */
export const REGISTRY_PREFIX = '/registry/';

const RESTART_MS = 1000;

const FORGET_PERIOD_MS = 60_000;

interface Waiter {
  readonly revision: number;
  readonly wake: () => void;
}

export interface CacheHubDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Records every change of every cache. */
  readonly recorder?: ChangeRecorder | undefined;
}

export class CacheHub {
  readonly #deps: CacheHubDeps;
  readonly #caches = new Map<string, WatchCache>();
  /** Changes that arrive while a prefix is being read. */
  readonly #loading = new Map<string, StoreEvent[]>();
  readonly #resetListeners = new Set<() => void>();
  readonly #byteListeners = new Set<(bytes: number) => void>();
  readonly #remembered = new RememberedBytes(this.#caches);
  #waiters: Waiter[] = [];
  #revision = 0;
  #watch: StoreWatch | undefined;
  #stopped = true;
  #cancelRestart: (() => void) | undefined;
  #cancelForgetting: (() => void) | undefined;

  constructor(deps: CacheHubDeps) {
    this.#deps = deps;
  }

  /** The revision that all caches have reached. */
  get revision(): number {
    return this.#revision;
  }

  /** True between a successful start and stop, while the store's watch runs. */
  get healthy(): boolean {
    return this.#watch !== undefined;
  }

  /** The cache of a prefix, created if new; call it before `start`, or before `load`. */
  cache(prefix: string): WatchCache {
    let cache = this.#caches.get(prefix);
    if (cache === undefined) this.#caches.set(prefix, (cache = this.#newCache(prefix)));
    return cache;
  }

  #newCache(prefix: string): WatchCache {
    const onThrow = (error: unknown): void =>
      this.#deps.log.unexpected('a listener of a watch cache threw', error, { prefix });
    return new WatchCache(prefix, onThrow, { recorder: this.#deps.recorder, pace: this.#deps.clock });
  }

  /** Reads everything, then watches. */
  async start(): Promise<void> {
    this.#stopped = false;
    const loads = new Map([...this.#caches.values()].map((cache) => [cache, cache.beginLoad()]));
    const range = { start: REGISTRY_PREFIX, end: prefixEnd(REGISTRY_PREFIX) };
    const revision = await scanStore(this.#deps.store, range, ({ entries }) => {
      for (const entry of entries) {
        const cache = this.#cacheOf(entry.key);
        if (cache !== undefined) loads.get(cache)?.add(entry);
      }
    });
    if (this.#stopped) return;
    for (const load of loads.values()) load.finish(revision);
    if (this.#revision > 0) this.#deps.recorder?.takeGap(this.#revision, revision);
    this.#startWatch(revision);
    this.#advance(revision);
    this.#startForgetting();
  }

  /** A separate method: a closure in `start` would keep everything it has read in memory. */
  #startForgetting(): void {
    const { clock } = this.#deps;
    this.#cancelForgetting ??= clock.setTicker(FORGET_PERIOD_MS, () => {
      for (const cache of this.#caches.values()) cache.forgetOld(clock.monotonicMs());
    });
  }

  #startWatch(afterRevision: number): void {
    const range = { start: REGISTRY_PREFIX, end: prefixEnd(REGISTRY_PREFIX), afterRevision };
    this.#watch = this.#deps.store.watch(range, {
      onEvents: (events, revision) => this.#takeEvents(events, revision),
      onProgress: (revision) => this.#advance(revision),
      onError: (error) => this.#onError(error),
    });
  }

  /** Reads one prefix while the others continue. For definitions added at run time. */
  async load(prefix: string): Promise<WatchCache> {
    const cache = this.cache(prefix);
    if (cache.loaded || this.#stopped) return cache;
    const pending: StoreEvent[] = [];
    this.#loading.set(prefix, pending);
    try {
      const load = cache.beginLoad();
      const range = { start: prefix, end: prefixEnd(prefix) };
      const revision = await scanStore(this.#deps.store, range, ({ entries }) => entries.forEach(load.add));
      load.finish(revision);
      cache.apply(
        pending.filter((event) => event.revision > revision),
        this.#deps.clock.monotonicMs(),
      );
    } finally {
      this.#loading.delete(prefix);
    }
    return cache;
  }

  /** Drops a prefix. Its objects stay in the store. */
  drop(prefix: string): void {
    this.#caches.delete(prefix);
  }

  /** The store was compacted at this revision: the caches drop older snapshots, so that continue tokens expire in time. */
  compacted(revision: number): void {
    for (const cache of this.#caches.values()) cache.forgetSnapshots(revision);
  }

  /** Releases memory in an idle period: old changes, and decoded objects without other references. */
  releaseMemory(): void {
    for (const cache of this.#caches.values()) {
      cache.forgetOld(this.#deps.clock.monotonicMs());
      for (const cell of cache.cells()) cell.rest();
    }
  }

  #cacheOf(key: string): WatchCache | undefined {
    const second = key.indexOf('/', REGISTRY_PREFIX.length);
    const short = this.#caches.get(key.slice(0, second + 1));
    if (short !== undefined) return short;
    return this.#caches.get(key.slice(0, key.indexOf('/', second + 1) + 1));
  }

  /** Applies the events of a commit; caches that applied only a part are reloaded. */
  #takeEvents(events: readonly StoreEvent[], revision: number): void {
    try {
      this.#onEvents(events, revision);
    } catch (error) {
      this.#deps.log.unexpected('changes could not be taken into the watch caches', error, { revision });
      this.#watch?.stop();
      this.#onError(error as Error);
    }
  }

  #onEvents(events: readonly StoreEvent[], revision: number): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const previous = this.#revision;
    this.#revision = revision;
    if (events.length === 1) this.#apply(this.#cacheOf(events[0]!.key), events, nowMs);
    else {
      const byCache = new Map<WatchCache, StoreEvent[]>();
      for (const event of events) {
        const cache = this.#cacheOf(event.key);
        if (cache === undefined) continue;
        const list = byCache.get(cache);
        if (list === undefined) byCache.set(cache, [event]);
        else list.push(event);
      }
      for (const [cache, list] of byCache) this.#apply(cache, list, nowMs);
    }
    if (revision > previous) this.#wakeWaiters();
    const bytes = events.reduce((sum, { key, value }) => sum + key.length + (value?.byteLength ?? 0), 0);
    this.#remembered.add(bytes);
    callEach({ log: this.#deps.log, what: 'the bytes of changes could not be counted' }, this.#byteListeners, bytes);
  }

  /** Called after each commit with the bytes of its keys and values. */
  onBytes(listener: (bytes: number) => void): () => void {
    this.#byteListeners.add(listener);
    return () => this.#byteListeners.delete(listener);
  }

  #apply(cache: WatchCache | undefined, events: readonly StoreEvent[], nowMs: number): void {
    if (cache === undefined) return;
    const pending = this.#loading.get(cache.prefix);
    if (pending !== undefined) appendAll(pending, events);
    else if (cache.loaded) cache.apply(events, nowMs);
  }

  #advance(revision: number): void {
    if (revision <= this.#revision) return;
    this.#revision = revision;
    this.#wakeWaiters();
  }

  #wakeWaiters(): void {
    if (this.#waiters.length === 0) return;
    const ready = this.#waiters.filter((waiter) => waiter.revision <= this.#revision);
    this.#waiters = this.#waiters.filter((waiter) => waiter.revision > this.#revision);
    for (const waiter of ready) waiter.wake();
  }

  /** Resolves true once the caches have reached a revision, false after `timeoutMs`. */
  async waitFor(revision: number, timeoutMs: number): Promise<boolean> {
    if (this.#revision >= revision) return true;
    return await new Promise<boolean>((resolve) => {
      const cancel = this.#deps.clock.setTimer(timeoutMs, () => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        resolve(false);
      });
      const waiter: Waiter = {
        revision,
        wake: () => {
          cancel();
          resolve(true);
        },
      };
      this.#waiters.push(waiter);
    });
  }

  /** Called when the caches were rebuilt with a gap: every running watch must end. */
  onReset(listener: () => void): () => void {
    this.#resetListeners.add(listener);
    return () => this.#resetListeners.delete(listener);
  }

  #onError(error: Error): void {
    this.#watch = undefined;
    if (this.#stopped) return;
    callEach({ log: this.#deps.log, what: 'a watch could not be ended' }, this.#resetListeners);
    if (error instanceof StoreError && error.code === 'closed') return;
    this.#deps.log.error('watch on the store ended; reading everything again', { err: error });
    this.#scheduleRestart();
  }

  #scheduleRestart(): void {
    this.#cancelRestart = this.#deps.clock.setTimer(RESTART_MS, () => {
      this.start().catch((error: unknown) => {
        this.#deps.log.error('reading the store failed', { err: error });
        if (!this.#stopped) this.#scheduleRestart();
      });
    });
  }

  /** Ends the store's watch. */
  stop(): void {
    this.#stopped = true;
    this.#cancelRestart?.();
    this.#cancelForgetting?.();
    this.#cancelForgetting = undefined;
    this.#watch?.stop();
    this.#watch = undefined;
  }
}
