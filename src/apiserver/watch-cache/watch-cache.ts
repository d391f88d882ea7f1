/**
 * All objects below one storage prefix in memory: the newest cells in key order, snapshots for paged lists, the ring
 * of changes, and the listeners. Upstream: Cacher and its watchCache (processEvent) in storage/cacher.
 *
 * Invariants: changes arrive in revision order through `apply`; a listener gets every change once, whole commits
 * together, after the cache holds them; a patient one possibly in a later turn. A returned list never changes.
 */
import { Lru } from '../../base/lru.ts';
import { SortedKeys } from '../../base/sorted-keys.ts';
import { compareKeys } from '../../storage/key-order.ts';
import { prefixEnd, type StoredEntry, type StoreEvent } from '../../storage/store.ts';
import type { Pace } from '../turns.ts';
import { type CacheEvent, EventRing } from './cache-event.ts';
import { Dispatch, dispatchedAtOnce, type PatientListener } from './dispatch.ts';
import { type CacheListener, Listeners, type ListenerTrigger } from './listeners.ts';
import { RevisionCell } from './revision-cell.ts';

/** Records every change. `previous`: the former state; absent for a new object. `atMs`: monotonic, equal in a commit. */
export interface ChangeRecorder {
  take(event: StoreEvent, previous: RevisionCell | undefined, atMs: number): void;
  /** Called when the caches were reloaded: the changes after revision `after`, up to `until`, were not seen. */
  takeGap(after: number, until: number): void;
}

/** How many snapshots are kept for paged lists; older pages are read from the store. */
const SNAPSHOT_COUNT = 3;
/** How many lists are reused while nothing changes: of all namespaces, and of single ones. */
const LIST_COUNT = 8;

/** A load of the whole content. */
export interface CacheLoad {
  add(entry: StoredEntry): void;
  /** Call when everything was added, as of this revision. */
  finish(revision: number): void;
}

/** Never yields: no other work shares the event loop. */
const NO_TURNS: Pace = { monotonicMs: () => 0, turn: () => undefined, yield: () => Promise.resolve() };

export interface WatchCacheDeps {
  readonly recorder?: ChangeRecorder | undefined;
  /** The pace of dispatching to patient listeners. */
  readonly pace?: Pace;
}

/** The cache of one storage prefix. */
export class WatchCache {
  readonly prefix: string;
  /** Called with the error of a listener that threw. The other listeners still get the changes. */
  readonly #onThrow: (error: unknown) => void;
  readonly #recorder: ChangeRecorder | undefined;
  #cells: Map<string, RevisionCell> = new Map<string, RevisionCell>();
  readonly #keys = new SortedKeys(compareKeys);
  readonly #listeners = new Listeners<CacheListener>();
  readonly #patient = new Listeners<PatientListener>();
  readonly #dispatch: Dispatch;
  readonly #snapshots = new Lru<string, readonly RevisionCell[]>(SNAPSHOT_COUNT);
  #ring = new EventRing(0);
  readonly #lists = new Lru<string, readonly RevisionCell[]>(LIST_COUNT);
  #loaded = false;
  /** Bytes of the newest cells. */
  #bytes = 0;

  constructor(prefix: string, onThrow: (error: unknown) => void, { recorder, pace = NO_TURNS }: WatchCacheDeps = {}) {
    this.prefix = prefix;
    this.#onThrow = onThrow;
    this.#recorder = recorder;
    this.#dispatch = new Dispatch(pace, onThrow);
  }

  get size(): number {
    return this.#cells.size;
  }

  /** The number of objects, and their bytes. */
  get stored(): { readonly count: number; readonly bytes: number } {
    return { count: this.#cells.size, bytes: this.#bytes };
  }

  /** Whether the cache was loaded. Nothing may be read before. */
  get loaded(): boolean {
    return this.#loaded;
  }

  /**
   * Starts replacing the content by the store's. Readers see the old content until `finish`. Entries may be added in
   * any order.
   */
  beginLoad(): CacheLoad {
    const cells = new Map<string, RevisionCell>();
    return {
      add: ({ key, modRevision, value }) => {
        const revisionCell = this.#cells.get(key);
        cells.set(
          key,
          revisionCell?.revision === modRevision ? revisionCell : new RevisionCell(key, modRevision, value),
        );
      },
      finish: (revision) => this.#replace(cells, revision),
    };
  }

  /** Replaces the content and sends the differences to listeners. */
  #replace(cells: Map<string, RevisionCell>, revision: number): void {
    const before = this.#cells;
    this.#cells = cells;
    this.#bytes = 0;
    for (const cell of cells.values()) this.#bytes += cell.byteLength;
    this.#keys.replace([...cells.keys()]);
    const changes = this.#loaded || this.#hasListeners() ? differences(before, cells, revision) : [];
    this.#lists.clear();
    this.#snapshots.clear();
    this.#ring = new EventRing(revision);
    this.#loaded = true;
    if (changes.length > 0) this.#notify(changes, () => undefined);
  }

  #hasListeners(): boolean {
    return this.#listeners.size > 0 || this.#patient.size > 0;
  }

  /** Applies the changes of one commit and passes them to the listeners. */
  apply(events: readonly StoreEvent[], atMs: number): void {
    const changes: CacheEvent[] = [];
    for (const event of events) {
      const change = this.#change(event, atMs);
      if (change === undefined) continue;
      this.#ring.push(change);
      changes.push(change);
    }
    if (changes.length === 0) return;
    this.#lists.clear();
    this.#notify(changes, () => dropForms(changes));
  }

  #notify(changes: readonly CacheEvent[], done: () => void): void {
    this.#listeners.visit(changes, (listener, concerned) => this.#call(listener, concerned));
    const bytes = changes.reduce((sum, { cell, previous }) => sum + cell.byteLength + (previous?.byteLength ?? 0), 0);
    if (this.#patient.size <= dispatchedAtOnce(bytes) && !this.#dispatch.isBehind) {
      this.#patient.visit(changes, ({ listener }, concerned) => this.#call(listener, concerned));
      return done();
    }
    this.#dispatch.dispatch({ listeners: this.#patient.concerned(changes), bytes, done });
  }

  /** Whether patient listeners have not received all changes of the cache. */
  get isDispatching(): boolean {
    return this.#dispatch.isBehind;
  }

  #call(listener: CacheListener, changes: readonly CacheEvent[]): void {
    try {
      listener(changes);
    } catch (error) {
      this.#onThrow(error);
    }
  }

  #change(event: StoreEvent, atMs: number): CacheEvent | undefined {
    const { key, revision } = event;
    const previous = this.#cells.get(key);
    this.#bytes -= previous?.byteLength ?? 0;
    if (event.value === undefined) {
      if (previous === undefined) return undefined;
      this.#recorder?.take(event, previous, atMs);
      this.#cells.delete(key);
      this.#keys.delete(key);
      return { key, revision, cell: previous.at(revision), previous, deleted: true, atMs, frames: undefined };
    }
    this.#recorder?.take(event, previous, atMs);
    const cell = new RevisionCell(key, revision, event.value);
    this.#cells.set(key, cell);
    this.#bytes += cell.byteLength;
    if (previous === undefined) this.#keys.add(key);
    return { key, revision, cell, previous, deleted: false, atMs, frames: undefined };
  }

  /** The newest cell of a key. */
  get(key: string): RevisionCell | undefined {
    return this.#cells.get(key);
  }

  /** All newest cells below a key prefix (the cache's own, or one namespace's), in key order; the same array until a change. */
  list(under: string): readonly RevisionCell[] {
    const revisionCells = this.#lists.get(under);
    if (revisionCells !== undefined) return revisionCells;
    const cells: RevisionCell[] = [];
    for (const key of this.#keys.range(under, prefixEnd(under))) cells.push(this.#cells.get(key)!);
    this.#lists.set(under, cells);
    return cells;
  }

  /** Keeps a list for its further pages. */
  keepSnapshot(under: string, revision: number, cells: readonly RevisionCell[]): void {
    this.#snapshots.set(`${revision} ${under}`, cells);
  }

  /** The kept list of a revision, if still available. */
  snapshot(under: string, revision: number): readonly RevisionCell[] | undefined {
    return this.#snapshots.get(`${revision} ${under}`);
  }

  /** Drops the kept lists of revisions that the store no longer has. */
  forgetSnapshots(before: number): void {
    for (const key of this.#snapshots.keys()) if (Number.parseInt(key, 10) < before) this.#snapshots.delete(key);
  }

  /** Changes after a revision, or undefined when some were dropped: the watcher must list again. */
  changesAfter(revision: number): CacheEvent[] | undefined {
    return this.#ring.after(revision);
  }

  /** Drops changes that are old enough. */
  forgetOld(nowMs: number): void {
    this.#ring.forget(nowMs);
  }

  /** Drops the oldest changes until this many bytes are freed. */
  forgetBytes(bytes: number): void {
    this.#ring.forgetBytes(bytes);
  }

  /** The bytes of the kept changes. */
  get rememberedBytes(): number {
    return this.#ring.bytes;
  }

  /** The newest cells, in no order. */
  cells(): Iterable<RevisionCell> {
    return this.#cells.values();
  }

  /** The oldest revision a watch can resume from. */
  get rememberedSince(): number {
    return this.#ring.since;
  }

  /** Registers a listener for all changes or for those of its trigger; the result removes it. */
  listen(listener: CacheListener, trigger?: ListenerTrigger): () => void {
    return this.#listeners.add(listener, trigger);
  }

  /** The same for a listener that may get changes later: there may be thousands of them. */
  listenPatiently(listener: PatientListener, trigger?: ListenerTrigger): () => void {
    return this.#patient.add(listener, trigger);
  }
}

/** Drops the encodings that were kept for the listeners. */
function dropForms(changes: readonly CacheEvent[]): void {
  for (const change of changes) {
    change.frames = undefined;
    change.previous?.dropDecoded();
    if (change.deleted) change.cell.dropDecoded();
  }
}

/** The changes from one state to another, with `revision` for the latter. */
function differences(
  before: ReadonlyMap<string, RevisionCell>,
  after: ReadonlyMap<string, RevisionCell>,
  revision: number,
): CacheEvent[] {
  const changes: CacheEvent[] = [];
  const common = { deleted: false, atMs: 0, frames: undefined };
  for (const [key, cell] of after) {
    const previous = before.get(key);
    if (previous?.revision !== cell.revision) changes.push({ ...common, key, revision: cell.revision, cell, previous });
  }
  for (const [key, previous] of before)
    if (!after.has(key))
      changes.push({ ...common, key, revision, cell: previous.at(revision), previous, deleted: true });
  return changes;
}
