/**
 * The store's logic on one SQLite connection, synchronous; runs in the worker. A batch of writes is one transaction: its
 * compares are checked one after the other, a lost one changes nothing and leaves the others alone, and the revision
 * counter moves only when COMMIT, and so the fsync, has succeeded.
 */
import { compactedError, futureError } from '../store-errors.ts';
import { backup, DatabaseSync } from 'node:sqlite';
import { StoreError } from '../store.ts';
import {
  addToPage,
  type Batch,
  createPage,
  type EntryRow,
  type EventRow,
  type HistoryRow,
  toWire,
  type UndoneRow,
  type ValueRow,
  wirePage,
  type Write,
} from './entry-rows.ts';
import { storeErrorOf } from './errors.ts';
import { FreePages } from './free-pages.ts';
import { KeyIndex, type LiveKey } from './key-index.ts';
import { PastRows, rowsThen, type RowsThen } from './past-rows.ts';
import { PreparedStatements } from './prepared-statements.ts';
import { makePrivate } from './private-file.ts';
import { pack, type WireEntry, type WireEvent, type WireExpiry, type WirePage, type WireRequests } from './protocol.ts';
import { openSchema } from './schema.ts';
import * as sql from './statements.ts';

type Ask<Op extends keyof WireRequests> = WireRequests[Op]['ask'];
type Answer<Op extends keyof WireRequests> = WireRequests[Op]['answer'];

/** Revisions compacted in one transaction: others must not wait long. */
const COMPACTION_STEP = 2_000;

/** Values handed over at once by a scan. */
const SCAN_PAGE_BYTES = 1024 * 1024;

/** Pages (of 8 KB) a backup copies at once. */
const BACKUP_PAGES = 256;

export class StoreDatabase {
  readonly #database: DatabaseSync;
  readonly #statements: PreparedStatements;
  readonly #index = new KeyIndex();
  readonly #expiries = new Map<string, WireExpiry>();
  readonly #freePages: FreePages;
  readonly #past = new PastRows();
  #revision: number;
  #compactedRevision: number;

  /** Opens or makes the file. Throws `StoreError`. */
  constructor(path: string) {
    let opened: DatabaseSync | undefined;
    try {
      if (path !== ':memory:') makePrivate(path);
      opened = new DatabaseSync(path, { timeout: 0 });
      openSchema(opened);
      this.#database = opened;
      this.#statements = new PreparedStatements(opened);
      this.#freePages = new FreePages(opened);
      this.#compactedRevision = Number(this.#statements.prepare(sql.SELECT_COMPACTED).get()!['revision']);
      this.#revision = this.#readRevision();
      this.#readHistory();
    } catch (error) {
      opened?.close();
      throw storeErrorOf(error, `opening ${path}`);
    }
  }

  /** What the store must know at its start. */
  opened(): Answer<'open'> {
    const expiries = [...this.#expiries.values()];
    this.#expiries.clear(); // from here on the store keeps them
    return { revision: this.#revision, compactedRevision: this.#compactedRevision, expiries };
  }

  /** Applies a batch durably. A failed batch changes nothing. */
  write({ keys, numbers, values }: Ask<'write'>): Answer<'write'> {
    const batch: Batch = { staged: new Map(), current: [], values: [], revision: this.#revision };
    const revisions = new Float64Array(keys.length * 2);
    let at = 0;
    this.#statements.prepare(sql.BEGIN).run();
    try {
      for (const [index, key] of keys.entries()) {
        const length = numbers[index * 3]!;
        const value = length < 0 ? undefined : values.subarray(at, (at += length));
        const expectRevision = numbers[index * 3 + 1]!;
        const made = this.#writeOne({ key, value, expectRevision, expiresMs: numbers[index * 3 + 2]! }, batch);
        revisions[index * 2] = made?.revision ?? 0;
        revisions[index * 2 + 1] = made?.created ?? 0;
      }
      this.#statements.prepare(sql.COMMIT).run();
    } catch (error) {
      this.#abandon();
      throw storeErrorOf(error, 'writing');
    }
    this.#index.apply(batch.staged);
    this.#revision = batch.revision;
    return { revisions, current: batch.current, values: pack(batch.values) };
  }

  range(request: Ask<'range'>): Answer<'range'> {
    const { start, end, revision = this.#revision } = request;
    if (revision < this.#compactedRevision) throw compactedError(revision, this.#compactedRevision);
    if (revision > this.#revision) throw futureError(revision, this.#revision);
    const limit = request.limit < 0 ? Infinity : request.limit;
    const { rows, from } =
      revision === this.#revision
        ? { rows: this.#rowsNow(start, end), from: 0 }
        : this.#past.rows({ start, end, revision }, () => this.#rowsThen(start, end, revision));
    const values: Uint8Array[] = [];
    const until = Math.min(rows.length, from + limit);
    const entries: WireEntry[] = [];
    for (let index = from; index < until; index++) entries.push(toWire(this.#row(rows[index]!), values));
    const count = rows.length - from;
    return { entries, values: pack(values), count, revision: this.#revision };
  }

  /** Hands over all of a range as it is now, until `onPage` returns false. */
  scan(request: Ask<'scan'>, onPage: (page: WirePage) => boolean): Answer<'scan'> {
    const { start, end } = request;
    let page = createPage();
    for (const row of this.#statements.prepare<ValueRow>(sql.SELECT_VALUES, true).iterate(start, end)) {
      const [revision, key, created, value] = row;
      if (this.#index.get(key)?.revision !== revision) continue;
      if (addToPage(page, { key, revision, created, value }) < SCAN_PAGE_BYTES) continue;
      if (!onPage(wirePage(page))) return { revision: this.#revision };
      page = createPage();
    }
    onPage(wirePage(page));
    return { revision: this.#revision };
  }

  events(request: Ask<'events'>): Answer<'events'> {
    const { start, end, afterRevision } = request;
    if (afterRevision < this.#compactedRevision) throw compactedError(afterRevision, this.#compactedRevision);
    const rows = this.#statements.prepare<EventRow>(sql.SELECT_EVENTS).all(afterRevision, start, end);
    const values: Uint8Array[] = [];
    const events = rows.map((row): WireEvent => ({
      type: row.deleted === 1 ? 'delete' : 'put',
      entry: toWire(row, values),
    }));
    return { events, values: pack(values), revision: this.#revision };
  }

  /** One step towards compaction at `revision`; call again until the answer has reached it. */
  compact(request: Ask<'compact'>): Answer<'compact'> {
    if (request.revision > this.#revision) throw futureError(request.revision, this.#revision);
    const from = this.#compactedRevision;
    const to = Math.min(request.revision, from + COMPACTION_STEP);
    if (to <= from) return { compactedRevision: from };
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      this.#statements.prepare(sql.DELETE_SUPERSEDED).run(from, to);
      this.#statements.prepare(sql.DELETE_TOMBSTONES).run(from, to);
      this.#statements.prepare(sql.UPDATE_COMPACTED).run(to);
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#abandon();
      throw storeErrorOf(error, 'compacting');
    }
    this.#compactedRevision = to;
    return { compactedRevision: to };
  }

  /** One step of giving back the pages that compaction emptied; call again until it is done. */
  shrink(): Answer<'shrink'> {
    try {
      return { isDone: !this.#freePages.step() };
    } catch (error) {
      this.#abandon();
      throw storeErrorOf(error, 'giving free pages back');
    }
  }

  status(): Answer<'status'> {
    const size = this.#database
      .prepare('SELECT page_count * page_size AS n FROM pragma_page_count, pragma_page_size')
      .get();
    return {
      revision: this.#revision,
      compactedRevision: this.#compactedRevision,
      sizeBytes: Number(size!['n']),
      keyCount: this.#index.size,
    };
  }

  /** Copies everything to a new file, page by page between other work; what is written meanwhile is in the copy. */
  async backupTo(path: string): Promise<void> {
    try {
      makePrivate(path);
      await backup(this.#database, path, { rate: BACKUP_PAGES });
    } catch (error) {
      throw storeErrorOf(error, `copying to ${path}`);
    }
  }

  /** Reads all of the file. Throws when something does not fit together. */
  checkIntegrity(): void {
    const found = this.#database.prepare('PRAGMA integrity_check(1)').get()!['integrity_check'];
    if (found !== 'ok') throw new StoreError('corrupt', `the file is damaged: ${String(found)}`);
  }

  /** The next change gets a revision above this one; all up to it count as compacted. For compacted stores. */
  skipTo(revision: number): void {
    this.#statements.prepare(sql.UPDATE_COMPACTED).run(revision);
    this.#compactedRevision = revision;
    this.#revision = this.#readRevision();
  }

  close(): void {
    this.#database.close();
  }

  /** Undefined: the compare was lost, or there was nothing to delete. */
  #writeOne({ key, value, expectRevision, expiresMs }: Write, batch: Batch): LiveKey | undefined {
    const live = batch.staged.has(key) ? batch.staged.get(key) : this.#index.get(key);
    const lost = expectRevision >= 0 && expectRevision !== (live?.revision ?? 0);
    if (lost || (value === undefined && live === undefined)) {
      batch.current.push(live === undefined ? undefined : toWire(this.#row(live.revision), batch.values));
      return undefined;
    }
    const revision = ++batch.revision;
    const created = live?.created ?? revision;
    const deleted = value === undefined ? 1 : 0;
    const expires = expiresMs < 0 ? null : expiresMs;
    this.#statements
      .prepare(sql.INSERT_CHANGE)
      .run(revision, key, deleted, created, live?.revision ?? 0, expires, value ?? null);
    batch.staged.set(key, value === undefined ? undefined : { revision, created });
    return { revision, created };
  }

  #row(revision: number): EntryRow {
    const row = this.#statements.prepare<EntryRow>(sql.SELECT_ROW).get(revision);
    if (row === undefined) throw new StoreError('corrupt', `the store's file lacks revision ${revision}`);
    return row;
  }

  /** Revisions of the entries in the range, in key order. */
  #rowsNow(start: string, end: string): number[] {
    const rows: number[] = [];
    for (const key of this.#index.range(start, end)) rows.push(this.#index.get(key)!.revision);
    return rows;
  }

  /** The same at an earlier revision: keys not changed since, and what the first change since found. */
  #rowsThen(start: string, end: string, revision: number): RowsThen {
    const first = new Map<string, number>();
    for (const { key, previous } of this.#statements
      .prepare<UndoneRow>(sql.SELECT_UNDONE)
      .iterate(revision, start, end))
      if (!first.has(key)) first.set(key, previous);
    for (const [key, previous] of first) if (previous === 0) first.delete(key);
    return rowsThen(this.#unchangedSince(start, end, revision), first);
  }

  *#unchangedSince(start: string, end: string, revision: number): IterableIterator<readonly [string, number]> {
    for (const key of this.#index.range(start, end)) {
      const live = this.#index.get(key)!;
      if (live.revision <= revision) yield [key, live.revision];
    }
  }

  #readHistory(): void {
    for (const row of this.#statements.prepare<HistoryRow>(sql.SELECT_HISTORY, true).iterate()) {
      const [revision, key, deleted, created, expires] = row;
      this.#index.set(key, deleted === 1 ? undefined : { revision, created });
      if (expires !== null) this.#expiries.set(key, { key, revision, expiresMs: expires });
      else if (this.#expiries.size > 0) this.#expiries.delete(key);
    }
  }

  /** After a failure nothing of the batch may stay. */
  #abandon(): void {
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }

  #readRevision(): number {
    const last = Number(this.#statements.prepare(sql.SELECT_LAST_REVISION).get()!['revision'] ?? 0);
    return Math.max(1, last, this.#compactedRevision);
  }
}
