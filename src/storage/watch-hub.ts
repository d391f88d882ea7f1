/**
 * Delivers commits to watchers, for stores that hold their watchers in this process.
 *
 * Invariants: a watcher gets every change of its range once, in revision order, whole commits together; a commit made
 * from inside a watcher's callback is delivered after the present one has reached everybody; nothing is delivered from
 * inside `add` or after `stop`. A watcher that throws has missed changes: its watch ends with that error, the others go on.
 */
import type { Log } from '../platform/log.ts';
import { compareKeys } from './key-order.ts';
import type { StoreEvent, StoreWatch, StoreWatcher } from './store.ts';

/** Changes that became visible together. */
export interface Commit {
  readonly events: readonly StoreEvent[];
  /** The store's revision after them. */
  readonly revision: number;
}

/** The range of a watch, and the revision at which it starts. */
export interface WatchRange {
  readonly start: string;
  readonly end: string;
  readonly afterRevision: number;
}

interface Entry {
  readonly start: string;
  /** The end of the range, exclusive. */
  readonly end: string;
  readonly watcher: StoreWatcher;
  /** Commits that arrived before the backlog; undefined once live. */
  held: Commit[] | undefined;
  seenRevision: number;
  /** Removed from the list: only earlier commits and the error that removed it are still delivered. */
  stopped: boolean;
  /** Stopped by its owner, or its end was reported: no further callbacks. */
  silent: boolean;
  batch: StoreEvent[] | undefined;
}

/** Delivers what a new watcher missed. */
export interface Backlog extends StoreWatch {
  /** Delivers the changes since the start, up to `commit.revision`; later commits follow. */
  begin(commit: Commit): void;
  /** Ends the watch with an error. */
  fail(error: Error): void;
}

/** The watchers of one store. */
export class WatchHub {
  /** Sorted by start. */
  #entries: Entry[] = [];
  /** The greatest end among the entries up to each index, by which a lookup stops early. */
  #reach: string[] = [];
  readonly #queue: { readonly commit: Commit; readonly delivered: () => void }[] = [];
  #delivering = false;
  readonly #log: Log | undefined;

  constructor(log?: Log) {
    this.#log = log;
  }

  get size(): number {
    return this.#entries.length;
  }

  /** Registers a watcher, which receives nothing before `begin`. */
  add(range: WatchRange, watcher: StoreWatcher): Backlog {
    const entry: Entry = {
      start: range.start,
      end: range.end === '' ? `${range.start}\0` : range.end,
      watcher,
      held: [],
      seenRevision: range.afterRevision,
      stopped: false,
      silent: false,
      batch: undefined,
    };
    this.#entries = [...this.#entries, entry].sort((a, b) => compareKeys(a.start, b.start));
    this.#index();
    return {
      begin: (commit) => this.#begin(entry, commit),
      fail: (error) => this.#fail(entry, error),
      stop: () => {
        entry.silent = true;
        this.#remove(entry);
      },
    };
  }

  /**
   * Delivers a commit to the watchers of its keys, then calls `delivered`. Synchronous unless a delivery is in
   * progress.
   */
  publish(commit: Commit, delivered: () => void): void {
    this.#queue.push({ commit, delivered });
    if (this.#delivering) return;
    this.#delivering = true;
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
        this.#deliver(next.commit);
        next.delivered();
      }
    } finally {
      this.#delivering = false;
    }
  }

  /** Ends all watches with an error. */
  failAll(error: Error): void {
    for (const entry of this.#entries) this.#fail(entry, error);
  }

  #deliver(commit: Commit): void {
    for (const event of commit.events) {
      for (let at = this.#lastStartingBefore(event.key); at >= 0; at--) {
        if (compareKeys(this.#reach[at]!, event.key) <= 0) break;
        const entry = this.#entries[at]!;
        if (compareKeys(entry.end, event.key) > 0) (entry.batch ??= []).push(event);
      }
    }
    for (const entry of this.#entries) {
      const events = entry.batch ?? [];
      entry.batch = undefined;
      const own: Commit = { events, revision: commit.revision };
      if (entry.held === undefined) this.#hand(entry, own);
      else entry.held.push(own);
    }
  }

  #begin(entry: Entry, backlog: Commit): void {
    queueMicrotask(() => {
      this.#hand(entry, backlog);
      // A callback may commit more, which is held too: the list may grow during the walk.
      for (const commit of entry.held ?? []) this.#hand(entry, commit);
      entry.held = undefined;
    });
  }

  #fail(entry: Entry, error: Error): void {
    if (entry.stopped) return;
    this.#remove(entry);
    queueMicrotask(() => {
      if (entry.silent) return;
      entry.silent = true;
      this.#notifyEnd(entry, error);
    });
  }

  /** Reports the end to a watcher. An error that the watcher throws is logged and does not affect others. */
  #notifyEnd({ watcher, start }: Entry, error: Error): void {
    try {
      watcher.onError(error);
    } catch (second) {
      this.#log?.unexpected('a watcher of the store threw at the end of its watch', second, { range: start });
    }
  }

  #remove(entry: Entry): void {
    if (entry.stopped) return;
    entry.stopped = true;
    this.#entries = this.#entries.filter((other) => other !== entry);
    this.#index();
  }

  #index(): void {
    let reach = '';
    this.#reach = this.#entries.map(({ end }) => (reach = compareKeys(end, reach) > 0 ? end : reach));
  }

  #lastStartingBefore(key: string): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareKeys(this.#entries[middle]!.start, key) <= 0) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #hand(entry: Entry, commit: Commit): void {
    if (entry.silent || commit.revision < entry.seenRevision) return;
    const events =
      (commit.events[0]?.revision ?? Infinity) > entry.seenRevision
        ? commit.events
        : commit.events.filter((event) => event.revision > entry.seenRevision);
    entry.seenRevision = commit.revision;
    try {
      if (events.length > 0) entry.watcher.onEvents(events, commit.revision);
      else entry.watcher.onProgress?.(commit.revision);
    } catch (error) {
      entry.silent = true;
      this.#remove(entry);
      queueMicrotask(() => this.#notifyEnd(entry, error as Error));
    }
  }
}
