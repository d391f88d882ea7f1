/**
 * The revisioned key-value contract (etcd's model) that memory, SQLite and etcd implement and `store-suite.ts` tests.
 *
 * Invariants: one revision counter, raised by one per acknowledged change (a deletion too); nothing is acknowledged
 * before it is durable; a watcher sees every change once, in revision order; values are opaque bytes and shared: nobody
 * changes them. The counter starts at 1 for an empty store.
 */

import type { StoreChangeLog } from './change-log.ts';

/** A key with its value at one revision. */
export interface StoredEntry {
  readonly key: string;
  readonly value: Uint8Array;
  /** Revision of the last change: the object's resourceVersion. */
  readonly modRevision: number;
  /** Revision at which the key last came into being. */
  readonly createRevision: number;
}

/** One change, as watchers see it. */
export type StoreEvent = StorePut | StoreDelete;

interface StorePut {
  readonly type: 'put';
  readonly key: string;
  readonly revision: number;
  /** The new value. */
  readonly value: Uint8Array;
  /** Revision at which the key came into being. */
  readonly createRevision: number;
}

/** A deletion has no value; the field exists so that `event.value` can be read. */
interface StoreDelete {
  readonly type: 'delete';
  readonly key: string;
  readonly revision: number;
  readonly value?: undefined;
  readonly createRevision?: undefined;
}

/** A compare-and-swap write. */
export interface PutRequest {
  readonly key: string;
  readonly value: Uint8Array;
  /** Required current mod revision; 0: the key must not exist; absent: unconditional. */
  readonly expectRevision?: number;
  /** The key is deleted if it is not written again for this long (events). */
  readonly ttlSeconds?: number;
}

/** A compare-and-delete. */
export interface DeleteRequest {
  readonly key: string;
  readonly expectRevision?: number;
}

/** The result of a write. A failed compare is no error: it has the current entry (absent: the key does not exist). */
export type WriteResult =
  | { readonly ok: true; readonly revision: number }
  | { readonly ok: false; readonly current?: StoredEntry };

/** A range read. Keys in [start, end), byte order; `end` '' means: start alone. */
export interface RangeRequest {
  readonly start: string;
  readonly end: string;
  /** 0 or absent: all. */
  readonly limit?: number;
  /** Reads as of this revision; absent: now. Fails with `StoreError` compacted / futureRevision. */
  readonly revision?: number;
  readonly countOnly?: boolean;
}

/** Answer of a range read. */
export interface RangeResult {
  readonly entries: readonly StoredEntry[];
  /** Entries in the range, whatever the limit. */
  readonly count: number;
  /** The store's revision when read. */
  readonly revision: number;
}

export interface ScanRange {
  readonly start: string;
  readonly end: string;
  /** The most entries of a page, if the store does not choose. Default 10,000, as upstream. */
  readonly pageEntries?: number;
}

/** Some of the entries of a scan. */
export interface ScanPage {
  readonly entries: readonly StoredEntry[];
}

/** A running watch. Batches arrive in revision order, whole commits together. */
export interface StoreWatch {
  /** Stops; no callback runs afterwards. */
  stop(): void;
}

export interface StoreWatcher {
  /** `revision`: the store's revision after these events. */
  onEvents(events: readonly StoreEvent[], revision: number): void;
  /** The watcher has seen everything up to this revision, even without events in its range. */
  onProgress?(revision: number): void;
  /** The watch has ended (compacted start revision, store closed). Called once. */
  onError(error: Error): void;
}

/** Sizes for metrics and `keelson status`. */
export interface StoreStatus {
  readonly kind: string;
  readonly revision: number;
  readonly compactedRevision: number;
  readonly sizeBytes: number;
  readonly keyCount: number;
  /** Why the last write failed; absent after a success. */
  readonly problem?: string;
}

/** The kind of failure; `unknownOutcome`: a write may or may not have happened. */
export type StoreErrorCode =
  | 'compacted'
  | 'futureRevision'
  | 'unavailable'
  | 'full'
  | 'tooLarge'
  | 'corrupt'
  | 'closed'
  | 'unknownOutcome';

export class StoreError extends Error {
  readonly code: StoreErrorCode;
  constructor(code: StoreError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StoreError';
    this.code = code;
  }
}

/** The encryption of a store's values. */
export interface ValueCipher {
  seal(key: string, value: Uint8Array): Uint8Array;
  /** Throws `StoreError` corrupt when the key of its encryption is gone. */
  unseal(key: string, value: Uint8Array): Uint8Array;
}

export interface Store {
  /** The newest entry of a key, linearizable. */
  get(key: string): Promise<StoredEntry | undefined>;
  range(request: RangeRequest): Promise<RangeResult>;
  /**
   * Reads everything in [start, end) at one revision, to which it resolves, in pages in any order: for filling
   * caches, with few pages in memory. Absent if `range` is as good; `scanStore` works with all stores.
   */
  scan?(range: ScanRange, onPage: (page: ScanPage) => void): Promise<number>;
  put(request: PutRequest): Promise<WriteResult>;
  delete(request: DeleteRequest): Promise<WriteResult>;
  /** Watches [start, end) for changes after `afterRevision` (those at greater revisions). */
  watch(range: { start: string; end: string; afterRevision: number }, watcher: StoreWatcher): StoreWatch;
  /**
   * Removes history before `revision`, which itself remains readable. Reads at, and watches after, lower revisions
   * fail with `compacted`.
   */
  compact(revision: number): Promise<void>;
  status(): Promise<StoreStatus>;
  /**
   * The newest revision, linearizable. Only for stores that other processes write too: a read is fresh once the watch
   * has reached it. Absent for others, whose watch is never behind acknowledged writes.
   */
  latestRevision?(): Promise<number>;
  /** Whether the value has a form that writes no longer use (an old encryption key): writing it again renews it. */
  isStale?(key: string): boolean;
  /** The encryption of values that are kept beside the store; absent: they are not encrypted. */
  readonly cipher?: ValueCipher | undefined;
  /**
   * Writes a complete and consistent copy to a new file while the store is in use. Absent for stores without a file.
   */
  backup?(path: string): Promise<void>;
  /** The log of every change, to restore any moment. Absent for stores without one. */
  readonly changeLog?: StoreChangeLog | undefined;
  /** Completes accepted writes, then closes. */
  close(): Promise<void>;
}

/** The end of the range of all keys that start with `prefix`; of '' of all keys. `prefix` must not end in U+D7FF or U+FFFF. */
export function prefixEnd(prefix: string): string {
  if (prefix === '') return '\u{10ffff}';
  const last = prefix.charCodeAt(prefix.length - 1);
  return prefix.slice(0, -1) + String.fromCharCode(last + 1);
}
