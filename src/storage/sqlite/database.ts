/**
 * The store's logic on one SQLite connection, synchronous; runs in the worker. A batch of writes is one transaction:
 * its compares are evaluated one after the other, a failed one changes nothing and does not affect the others, and
 * the revision advances only when COMMIT, and so the fsync, has succeeded.
 */
import { compactedError, futureError } from '../store-errors.ts';
import { DatabaseSync } from 'node:sqlite';
import { StoreError } from '../store.ts';
import {
  addToPage,
  type Batch,
  createPage,
  type EventRow,
  type HistoryRow,
  toWire,
  type ValueRow,
  wirePage,
  type Write,
} from './entry-rows.ts';
import { storeErrorOf } from './errors.ts';
import { FreePages } from './free-pages.ts';
import { KeyIndex, type LiveKey } from './key-index.ts';
import { PreparedStatements } from './prepared-statements.ts';
import { makePrivate } from './private-file.ts';
import { pack, type WireEntry, type WireEvent, type WireExpiry, type WirePage, type WireRequests } from './protocol.ts';
import { openSchema } from './schema.ts';
import { StoredRows } from './stored-rows.ts';
import { dropLog, LogRows } from './change-log/log-rows.ts';
import * as sql from './statements.ts';
import { copyWhole } from './whole-copy.ts';

type RequestOf<Op extends keyof WireRequests> = WireRequests[Op]['request'];
type Answer<Op extends keyof WireRequests> = WireRequests[Op]['answer'];

/** Revisions compacted in one transaction, which delays other calls. */
const COMPACTION_STEP = 2_000;

/** Bytes of values in one page of a scan. */
const SCAN_PAGE_BYTES = 1024 * 1024;

/** Pages (of 8 KB) that a backup copies at once. */
const BACKUP_PAGES = 256;

export class StoreDatabase {
  readonly #database: DatabaseSync;
  readonly #statements: PreparedStatements;
  readonly #index = new KeyIndex();
  readonly #expiries = new Map<string, WireExpiry>();
  readonly #freePages: FreePages;
  readonly #log: LogRows;
  readonly #rows: StoredRows;
  #revision: number;
  #compactedRevision: number;

  /** Opens or makes the file. Throws `StoreError`. */
  constructor(path: string, { resumesLog = false } = {}) {
    let opened: DatabaseSync | undefined;
    try {
      if (path !== ':memory:') makePrivate(path);
      opened = new DatabaseSync(path, { timeout: 0 });
      openSchema(opened);
      this.#database = opened;
      this.#statements = new PreparedStatements(opened);
      this.#rows = new StoredRows(this.#statements, this.#index);
      this.#freePages = new FreePages(opened);
      this.#log = new LogRows(opened, this.#statements);
      this.#compactedRevision = Number(this.#statements.prepare(sql.SELECT_COMPACTED).get()!['revision']);
      this.#revision = this.#readRevision();
      if (resumesLog) this.#log.resume(this.#revision);
      this.#readHistory();
    } catch (error) {
      opened?.close();
      throw storeErrorOf(error, `opening ${path}`);
    }
  }

  /** The store's state at its start. */
  opened(): Answer<'open'> {
    const expiries = [...this.#expiries.values()];
    this.#expiries.clear(); // from here on the store keeps them
    return { revision: this.#revision, compactedRevision: this.#compactedRevision, expiries };
  }

  /** Applies a batch durably. A failed batch changes nothing. */
  write({ keys, numbers, values, timeMs }: RequestOf<'write'>): Answer<'write'> {
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
      if (batch.revision !== this.#revision) this.#log.record(batch.revision, timeMs);
      this.#statements.prepare(sql.COMMIT).run();
    } catch (error) {
      this.#abandon();
      throw storeErrorOf(error, 'writing');
    }
    this.#index.apply(batch.staged);
    this.#revision = batch.revision;
    return { revisions, current: batch.current, values: pack(batch.values) };
  }

  range(request: RequestOf<'range'>): Answer<'range'> {
    const { start, end, revision = this.#revision } = request;
    if (revision < this.#compactedRevision) throw compactedError(revision, this.#compactedRevision);
    if (revision > this.#revision) throw futureError(revision, this.#revision);
    const limit = request.limit < 0 ? Infinity : request.limit;
    const { rows, from } = this.#rows.find({ start, end, revision, isNewest: revision === this.#revision });
    const values: Uint8Array[] = [];
    const until = Math.min(rows.length, from + limit);
    const entries: WireEntry[] = [];
    for (let index = from; index < until; index++) entries.push(toWire(this.#rows.row(rows[index]!), values));
    const count = rows.length - from;
    return { entries, values: pack(values), count, revision: this.#revision };
  }

  /** Passes all current entries of a range, until `onPage` returns false. */
  scan(request: RequestOf<'scan'>, onPage: (page: WirePage) => boolean): Answer<'scan'> {
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

  events(request: RequestOf<'events'>): Answer<'events'> {
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

  /** One step of the compaction to `revision`; call it again until the result has reached it. */
  compact(request: RequestOf<'compact'>): Answer<'compact'> {
    if (request.revision > this.#revision) throw futureError(request.revision, this.#revision);
    const from = this.#compactedRevision;
    const to = Math.min(request.revision, from + COMPACTION_STEP);
    if (to <= from) return { compactedRevision: from };
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      this.#statements.prepare(sql.DELETE_SUPERSEDED).run(from, to);
      this.#statements.prepare(sql.DELETE_TOMBSTONES).run(from, to);
      this.#statements.prepare(sql.UPDATE_COMPACTED).run(to);
      this.#log.compacted(to);
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#abandon();
      throw storeErrorOf(error, 'compacting');
    }
    this.#compactedRevision = to;
    return { compactedRevision: to };
  }

  beginLog({ newIdentity, nowMs }: RequestOf<'beginLog'>): Answer<'beginLog'> {
    try {
      const identity = this.#log.begin(newIdentity, this.#revision, nowMs);
      return { identity, revision: this.#revision, readableAfter: this.#compactedRevision };
    } catch (error) {
      this.#abandon();
      throw storeErrorOf(error, 'beginning the change log');
    }
  }

  readLog({ after, maxBytes }: RequestOf<'readLog'>): Answer<'readLog'> {
    return { part: this.#log.read(after, maxBytes, this.#compactedRevision) };
  }

  /** One step of returning the pages that compaction freed; call it again until it is done. */
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

  /** Copies everything to a new file, in steps between other calls; the copy includes what is written meanwhile. */
  async backupTo(path: string): Promise<void> {
    try {
      makePrivate(path);
      await copyWhole(this.#database, path, BACKUP_PAGES);
    } catch (error) {
      throw storeErrorOf(error, `copying to ${path}`);
    }
  }

  /** Reads the whole file. Throws when it is inconsistent. */
  checkIntegrity(): void {
    const checkResult = this.#database.prepare('PRAGMA integrity_check(1)').get()!['integrity_check'];
    if (checkResult !== 'ok') throw new StoreError('corrupt', `the file is damaged: ${String(checkResult)}`);
  }

  /**
   * Advances the revision: all revisions up to this one count as compacted, and the change log ends. Only for
   * compacted stores.
   */
  skipTo(revision: number): void {
    dropLog(this.#database);
    this.#statements.prepare(sql.UPDATE_COMPACTED).run(revision);
    this.#compactedRevision = revision;
    this.#revision = this.#readRevision();
  }

  close(): void {
    this.#database.close();
  }

  /** Undefined: the compare failed, or there was nothing to delete. */
  #writeOne({ key, value, expectRevision, expiresMs }: Write, batch: Batch): LiveKey | undefined {
    const live = batch.staged.has(key) ? batch.staged.get(key) : this.#index.get(key);
    const lost = expectRevision >= 0 && expectRevision !== (live?.revision ?? 0);
    if (lost || (value === undefined && live === undefined)) {
      batch.current.push(live === undefined ? undefined : toWire(this.#rows.row(live.revision), batch.values));
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

  #readHistory(): void {
    for (const row of this.#statements.prepare<HistoryRow>(sql.SELECT_HISTORY, true).iterate()) {
      const [revision, key, deleted, created, expires] = row;
      this.#index.set(key, deleted === 1 ? undefined : { revision, created });
      if (expires !== null) this.#expiries.set(key, { key, revision, expiresMs: expires });
      else if (this.#expiries.size > 0) this.#expiries.delete(key);
    }
  }

  /** Rolls back after a failure. */
  #abandon(): void {
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }

  #readRevision(): number {
    const last = Number(this.#statements.prepare(sql.SELECT_LAST_REVISION).get()!['revision'] ?? 0);
    return Math.max(1, last, this.#compactedRevision);
  }
}
