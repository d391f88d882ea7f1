/**
 * The store's logic on one SQLite connection, synchronous; runs in the worker. A batch of writes is one transaction: its
 * compares are checked one after the other, a lost one changes nothing and leaves the others alone, and the revision
 * counter moves only when COMMIT, and so the fsync, has succeeded.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { StoreError } from '../store.ts';
import { storeErrorOf } from './errors.ts';
import {
  pack,
  type WireEntry,
  type WireEvent,
  type WireRange,
  type WireRequests,
  type WireWrite,
  type WireWriteResult,
} from './protocol.ts';
import { openSchema } from './schema.ts';
import * as sql from './statements.ts';

type Ask<Op extends keyof WireRequests> = WireRequests[Op]['ask'];
type Answer<Op extends keyof WireRequests> = WireRequests[Op]['answer'];

/** Revisions compacted in one transaction: others must not wait long. */
const compactionStep = 2_000;

interface EntryRow {
  readonly key: string;
  readonly revision: number;
  readonly created: number;
  readonly value: Uint8Array | null;
}

/** An open database file. */
export class StoreDatabase {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #revision: number;
  #compactedRevision: number;

  /** Opens or makes the file. Throws `StoreError`. */
  constructor(path: string) {
    let opened: DatabaseSync | undefined;
    try {
      opened = new DatabaseSync(path, { timeout: 0 });
      openSchema(opened);
      this.#database = opened;
      this.#compactedRevision = Number(this.#prepare(sql.selectCompacted).get()!['revision']);
      this.#revision = this.#readRevision();
    } catch (error) {
      opened?.close();
      throw storeErrorOf(error, `opening ${path}`);
    }
  }

  /** What the store must know at its start. */
  opened(): Answer<'open'> {
    const rows = this.#prepare(sql.selectExpiries).all() as unknown as {
      key: string;
      revision: number;
      expires: number;
    }[];
    const expiries = rows.map(({ key, revision, expires }) => ({ key, revision, expiresMs: expires }));
    return { revision: this.#revision, compactedRevision: this.#compactedRevision, expiries };
  }

  /** Applies a batch durably. A failed batch changes nothing. */
  write(request: Ask<'write'>): Answer<'write'> {
    const results: WireWriteResult[] = [];
    const values: Uint8Array[] = [];
    let revision = this.#revision;
    let at = 0;
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      for (const write of request.writes) {
        const value = write.length === undefined ? undefined : request.values.subarray(at, (at += write.length));
        const result = this.#writeOne(write, value, { revision: revision + 1, values });
        revision = result.revision ?? revision;
        results.push(result);
      }
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#abandon();
      throw storeErrorOf(error, 'writing');
    }
    this.#revision = revision;
    return { results, values: pack(values) };
  }

  range(request: Ask<'range'>): Answer<'range'> {
    const { start, end, limit, revision } = request;
    if (revision !== undefined && revision < this.#compactedRevision)
      throw compactedError(revision, this.#compactedRevision);
    if (revision !== undefined && revision > this.#revision) throw futureError(revision, this.#revision);
    const now = revision === undefined || revision === this.#revision;
    const bounds = { start, end, ...(now ? {} : { revision: revision! }) };
    const select = this.#prepare(now ? sql.selectNow : sql.selectThen);
    const rows = limit === 0 ? [] : (select.all({ ...bounds, limit }) as unknown as EntryRow[]);
    const whole = limit < 0 || rows.length < limit;
    const count = whole && limit !== 0 ? rows.length : this.#count(now ? sql.countNow : sql.countThen, bounds);
    const values: Uint8Array[] = [];
    const entries = rows.map((row) => toWire(row, values));
    return { entries, values: pack(values), count, revision: this.#revision };
  }

  events(request: Ask<'events'>): Answer<'events'> {
    const { start, end, afterRevision } = request;
    if (afterRevision < this.#compactedRevision) throw compactedError(afterRevision, this.#compactedRevision);
    const rows = this.#prepare(sql.selectEvents).all({
      start,
      end,
      revision: afterRevision,
    }) as unknown as (EntryRow & {
      readonly deleted: number;
      readonly pRevision: number | null;
      readonly pCreated: number | null;
      readonly pValue: Uint8Array | null;
    })[];
    const values: Uint8Array[] = [];
    const events = rows.map((row): WireEvent => {
      const { key, deleted, pRevision, pCreated, pValue } = row;
      const entry = toWire(row, values);
      const previous =
        pRevision === null
          ? undefined
          : toWire({ key, revision: pRevision, created: pCreated!, value: pValue }, values);
      return { type: deleted === 1 ? 'delete' : 'put', entry, previous };
    });
    return { events, values: pack(values), revision: this.#revision };
  }

  /** One step towards compaction at `revision`; call again until the answer has reached it. */
  compact(request: Ask<'compact'>): Answer<'compact'> {
    if (request.revision > this.#revision) throw futureError(request.revision, this.#revision);
    const from = this.#compactedRevision;
    const to = Math.min(request.revision, from + compactionStep);
    if (to <= from) return { compactedRevision: from };
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      this.#prepare(sql.deleteSuperseded).run({ from, to });
      this.#prepare(sql.deleteTombstones).run({ from, to });
      this.#prepare(sql.updateCompacted).run({ to });
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#abandon();
      throw storeErrorOf(error, 'compacting');
    }
    this.#compactedRevision = to;
    return { compactedRevision: to };
  }

  status(): Answer<'status'> {
    const size = this.#database
      .prepare('SELECT page_count * page_size AS n FROM pragma_page_count, pragma_page_size')
      .get();
    return {
      revision: this.#revision,
      compactedRevision: this.#compactedRevision,
      sizeBytes: Number(size!['n']),
      keyCount: this.#count(sql.countAll, {}),
    };
  }

  close(): void {
    this.#database.close();
  }

  #writeOne(
    write: WireWrite,
    value: Uint8Array | undefined,
    next: { revision: number; values: Uint8Array[] },
  ): WireWriteResult {
    const { key, expectRevision } = write;
    const row = this.#prepare(sql.selectOne).get(key) as unknown as EntryRow | undefined;
    const entry = row === undefined ? undefined : toWire(row, next.values);
    const lost = expectRevision !== undefined && expectRevision !== (row?.revision ?? 0);
    if (lost || (value === undefined && row === undefined)) return { revision: undefined, entry };
    const { revision } = next;
    const created = row?.created ?? revision;
    const previous = row?.revision ?? 0;
    this.#prepare(sql.insertChange).run(revision, key, value === undefined ? 1 : 0, created, previous, value ?? null);
    if (value === undefined) this.#prepare(sql.deleteLive).run(key);
    else this.#prepare(sql.upsertLive).run(key, revision, created, write.expiresMs ?? null);
    return { revision, entry };
  }

  /** After a failure nothing of the batch may stay. */
  #abandon(): void {
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }

  #readRevision(): number {
    const last = Number(this.#prepare(sql.selectLastRevision).get()!['revision'] ?? 0);
    return Math.max(1, last, this.#compactedRevision);
  }

  #count(text: string, bounds: Partial<WireRange> & { revision?: number }): number {
    return Number(this.#prepare(text).get(bounds)!['n']);
  }

  #prepare(text: string): StatementSync {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.#database.prepare(text);
      this.#statements.set(text, statement);
    }
    return statement;
  }
}

const noBytes = new Uint8Array();

/** An empty value comes back as NULL. */
function toWire(row: EntryRow, values: Uint8Array[]): WireEntry {
  const value = row.value ?? noBytes;
  values.push(value);
  return { key: row.key, modRevision: row.revision, createRevision: row.created, length: value.byteLength };
}

function compactedError(revision: number, compactedRevision: number): StoreError {
  return new StoreError('compacted', `revision ${revision} was compacted: the oldest kept is ${compactedRevision}`);
}

function futureError(revision: number, current: number): StoreError {
  return new StoreError('futureRevision', `revision ${revision} is in the future: the store is at ${current}`);
}
