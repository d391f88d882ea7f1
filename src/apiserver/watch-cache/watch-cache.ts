/**
 * All objects of one storage prefix in memory: the newest cells in key order, snapshots for pages that continue, the
 * ring of changes, and those who watch. Upstream: storage/cacher.
 *
 * Invariants: changes arrive in revision order through `apply`; a listener gets every change once, whole commits
 * together, after the cache holds them. A list's array never changes once handed out.
 */
import { Lru } from '../../base/lru.ts';
import { SortedKeys } from '../../base/sorted-keys.ts';
import { compareKeys } from '../../storage/key-order.ts';
import { prefixEnd, type StoredEntry, type StoreEvent } from '../../storage/store.ts';
import { type CacheEvent, EventRing } from './cache-event.ts';
import { RevisionCell } from './revision-cell.ts';

/** Called with the changes of one commit. */
export type CacheListener = (events: readonly CacheEvent[]) => void;

/** Snapshots kept for lists in pages; older pages are read from the store. */
const snapshotCount = 3;

/** The cache of one storage prefix. */
export class WatchCache {
  readonly prefix: string;
  readonly #cells = new Map<string, RevisionCell>();
  readonly #keys = new SortedKeys(compareKeys);
  readonly #listeners = new Set<CacheListener>();
  readonly #snapshots = new Lru<string, readonly RevisionCell[]>(snapshotCount);
  #ring = new EventRing(0);
  #all: readonly RevisionCell[] | undefined;
  #loaded = false;

  constructor(prefix: string) {
    this.prefix = prefix;
  }

  get size(): number {
    return this.#cells.size;
  }

  /** False until the first load; reads before it are a mistake. */
  get loaded(): boolean {
    return this.#loaded;
  }

  /** Replaces everything by what the store holds at `revision`; listeners get the difference. */
  load(entries: readonly StoredEntry[], revision: number): void {
    const before = new Map(this.#cells);
    for (const key of before.keys()) this.#keys.delete(key);
    this.#cells.clear();
    const changes: CacheEvent[] = [];
    const common = { deleted: false, atMs: 0, frames: undefined };
    for (const { key, modRevision, value } of entries) {
      const cell = new RevisionCell(key, modRevision, value);
      const previous = before.get(key);
      before.delete(key);
      this.#cells.set(key, cell);
      this.#keys.add(key);
      if (previous?.revision !== modRevision) changes.push({ ...common, key, revision: modRevision, cell, previous });
    }
    for (const [key, previous] of before)
      changes.push({ ...common, key, revision, cell: previous.at(revision), previous, deleted: true });
    this.#all = undefined;
    this.#snapshots.clear();
    this.#ring = new EventRing(revision);
    this.#loaded = true;
    if (changes.length > 0) for (const listener of this.#listeners) listener(changes);
  }

  /** Takes in the changes of one commit and hands them on. */
  apply(events: readonly StoreEvent[], atMs: number): void {
    const changes: CacheEvent[] = [];
    for (const event of events) {
      const change = this.#change(event, atMs);
      if (change === undefined) continue;
      this.#ring.push(change);
      changes.push(change);
    }
    if (changes.length === 0) return;
    this.#all = undefined;
    for (const listener of this.#listeners) listener(changes);
    for (const change of changes) change.frames = undefined;
  }

  #change(event: StoreEvent, atMs: number): CacheEvent | undefined {
    const { key, revision } = event;
    const previous = this.#cells.get(key);
    if (event.value === undefined) {
      if (previous === undefined) return undefined;
      this.#cells.delete(key);
      this.#keys.delete(key);
      return { key, revision, cell: previous.at(revision), previous, deleted: true, atMs, frames: undefined };
    }
    const cell = new RevisionCell(key, revision, event.value);
    this.#cells.set(key, cell);
    if (previous === undefined) this.#keys.add(key);
    return { key, revision, cell, previous, deleted: false, atMs, frames: undefined };
  }

  /** The newest cell of a key. */
  get(key: string): RevisionCell | undefined {
    return this.#cells.get(key);
  }

  /** All newest cells below a key prefix (the cache's own, or one namespace's), in key order. */
  list(under: string): readonly RevisionCell[] {
    if (under === this.prefix && this.#all !== undefined) return this.#all;
    const cells: RevisionCell[] = [];
    for (const key of this.#keys.range(under, prefixEnd(under))) cells.push(this.#cells.get(key)!);
    if (under === this.prefix) this.#all = cells;
    return cells;
  }

  /** Keeps a list that will be continued. */
  keepSnapshot(under: string, revision: number, cells: readonly RevisionCell[]): void {
    this.#snapshots.set(`${revision} ${under}`, cells);
  }

  /** The kept list of a revision, if it is still there. */
  snapshot(under: string, revision: number): readonly RevisionCell[] | undefined {
    return this.#snapshots.get(`${revision} ${under}`);
  }

  /** Changes after a revision, or undefined when some are forgotten: the watcher must list again. */
  changesAfter(revision: number): CacheEvent[] | undefined {
    return this.#ring.after(revision);
  }

  /** The oldest revision a watch can resume from. */
  get rememberedSince(): number {
    return this.#ring.since;
  }

  /** Registers a listener; the result removes it. */
  listen(listener: CacheListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
