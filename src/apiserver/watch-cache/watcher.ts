/**
 * One watch: selects from the cache's changes, turns entering and leaving the selection into ADDED and DELETED, adds
 * bookmarks, and passes everything to a sink in order. Upstream: cacher's cacheWatcher (newCacheWatcher,
 * processInterval).
 *
 * Invariants: after the initial state, nothing at or before the start revision is sent; a sink that lags too far
 * behind ends the watch, never the server. Frames are encoded once per change and form and shared by all watchers.
 */
import type { Clock } from '../../platform/clock.ts';
import type { CacheEvent } from './cache-event.ts';
import type { RevisionCell } from './revision-cell.ts';

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

/** Takes the events of a watch; `T` is a frame of bytes or an object event. */
export interface WatchSink<T> {
  /** The events of one commit. Returns false when the sink lags too far behind, which ends the watch. */
  push(items: readonly T[]): boolean;
  /** Ends the sink. */
  end(): void;
}

export interface WatchEncoder<T> {
  /** The name of the form; undefined: nothing is shared between watchers. */
  event(type: WatchEventType, cell: RevisionCell, source: CacheEvent | undefined): T;
  /** Encodes an added object that is not the first event. Absent: all events have the same form. */
  readonly added?: ((cell: RevisionCell) => T) | undefined;
  bookmark(revision: number, initialEventsEnd: boolean): T;
  error(status: object): T;
}

export interface WatcherConfig<T> {
  readonly sink: WatchSink<T>;
  readonly encoder: WatchEncoder<T>;
  /** Whether a cell is selected; called for both sides of a change. */
  readonly selects: (cell: RevisionCell) => boolean;
  readonly selectsAll: boolean;
  /** The key prefix (of one namespace), or a whole key. */
  readonly under: string;
  readonly bookmarks: boolean;
  /**
   * Whether the reader is in this process: it gets a bookmark only when its last revision cannot, or soon will not,
   * be resumable. Otherwise an idle cluster would spend most of its time on bookmarks.
   */
  readonly spareBookmarks?: boolean;
  readonly timeoutMs: number;
  /** Whether the watch lacks changes that the cache has. No bookmark may be sent then. */
  readonly isBehind?: () => boolean;
}

export class Watcher<T> {
  readonly #config: WatcherConfig<T>;
  readonly #clock: Clock;
  readonly #cancels: (() => void)[] = [];
  #after = 0;
  /** The newest revision sent to the reader. */
  #sent = 0;
  /** The oldest resumable revision when the last bookmark was due. While it stays the same, no change is dropped. */
  #since = -1;
  #ended = false;

  constructor(config: WatcherConfig<T>, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
  }

  /** Whether the watch has ended. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Whether its reader gets only necessary bookmarks. */
  get sparesBookmarks(): boolean {
    return this.#config.spareBookmarks === true;
  }

  /** Encodes a cell for the initial state in advance; undefined when it is not selected. */
  encodeInitial(cell: RevisionCell): T | undefined {
    const { encoder } = this.#config;
    if (!this.#selects(cell)) return undefined;
    return encoder.added === undefined ? encoder.event('ADDED', cell, undefined) : encoder.added(cell);
  }

  #selects(cell: RevisionCell): boolean {
    return this.#config.selectsAll || this.#config.selects(cell);
  }

  /** Sends the existing objects as ADDED. `marksEnd`: a bookmark follows; `ahead`: events encoded in advance. */
  sendInitial(
    cells: readonly RevisionCell[],
    { revision, marksEnd, ahead }: { revision: number; marksEnd: boolean; ahead?: ReadonlyMap<RevisionCell, unknown> },
  ): void {
    const { encoder } = this.#config;
    const items: T[] = [];
    for (const cell of cells) {
      const isFirst = items.length === 0 && encoder.added !== undefined;
      if (isFirst && this.#selects(cell)) items.push(encoder.event('ADDED', cell, undefined));
      if (isFirst) continue;
      const item = ahead?.has(cell) === true ? (ahead.get(cell) as T | undefined) : this.encodeInitial(cell);
      if (item !== undefined) items.push(item);
    }
    if (marksEnd) items.push(this.#config.encoder.bookmark(revision, true));
    this.#after = revision;
    this.#sent = revision;
    this.#push(items);
  }

  /** Sends missed changes to a reader at `revision`, and continues with the cache's changes. */
  resume(missed: readonly CacheEvent[], revision: number, cacheRevision: number): void {
    this.onEvents(missed);
    this.#after = Math.max(this.#after, revision, cacheRevision);
    this.#sent = Math.max(this.#sent, revision);
  }

  /** Starts the time limit. `listen` registers with the cache and returns a function to unregister. */
  start(listen: (listener: (events: readonly CacheEvent[]) => void) => () => void): void {
    if (this.#ended) return;
    this.#cancels.push(listen((events) => this.onEvents(events)));
    this.#cancels.push(this.#clock.setTimer(this.#config.timeoutMs, () => this.end()));
  }

  /**
   * Sends a bookmark if the reader wants one and has all events up to the revision. `since`: the oldest resumable
   * revision.
   */
  bookmark(currentRevision: number, since: number): void {
    const { bookmarks, isBehind, spareBookmarks, encoder } = this.#config;
    if (!bookmarks || isBehind?.() === true) return;
    const isSafe = this.#sent >= since && this.#since === since;
    this.#since = since;
    if (spareBookmarks === true && isSafe) return;
    this.#sent = Math.max(currentRevision, this.#after);
    this.#push([encoder.bookmark(this.#sent, false)]);
  }

  /** Handles changes. */
  onEvents(events: readonly CacheEvent[]): void {
    if (this.#ended) return;
    const items: T[] = [];
    for (const event of events) {
      if (event.revision <= this.#after || !event.key.startsWith(this.#config.under)) continue;
      const item = this.#pick(event);
      if (item === undefined) continue;
      items.push(item);
      this.#sent = event.revision;
    }
    if (items.length > 0) this.#push(items);
  }

  #pick(event: CacheEvent): T | undefined {
    const { encoder, selects, selectsAll } = this.#config;
    const { cell, previous, deleted } = event;
    const now = !deleted && (selectsAll || selects(cell));
    const before = previous !== undefined && (selectsAll || selects(previous));
    if (now) return encoder.event(before ? 'MODIFIED' : 'ADDED', cell, event);
    if (!before) return undefined;
    return encoder.event('DELETED', deleted ? cell : previous.at(event.revision), deleted ? event : undefined);
  }

  #push(items: readonly T[]): void {
    if (this.#ended || items.length === 0) return;
    if (!this.#config.sink.push(items)) this.end();
  }

  /** Sends an ERROR and ends. */
  fail(status: object): void {
    this.#push([this.#config.encoder.error(status)]);
    this.end();
  }

  /** Ends. Idempotent. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const cancel of this.#cancels.splice(0)) cancel();
    this.#config.sink.end();
  }
}
