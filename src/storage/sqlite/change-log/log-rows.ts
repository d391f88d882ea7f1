/**
 * The change log inside a store's file: its identity and the time of each commit. The changes themselves are the rows of
 * `change`. The tables are made when the log begins; without them nothing is written and nothing costs time.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { LogPart } from '../../change-log.ts';
import { compactedError } from '../../store-errors.ts';
import { StoreError } from '../../store.ts';
import type { PreparedStatements } from '../prepared-statements.ts';
import { SELECT_LAST_REVISION } from '../statements.ts';
import { encodeCommit, encodePart, type LoggedChange } from './parts.ts';

interface CommitRow {
  readonly revision: number;
  readonly time: number;
}

interface ChangeRow {
  readonly revision: number;
  readonly key: string;
  readonly deleted: number;
  readonly created: number;
  readonly previous: number;
  readonly expires: number | null;
  readonly value: Uint8Array | null;
}

const TABLES = `
  CREATE TABLE IF NOT EXISTS log_identity (identity TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS log_commit (revision INTEGER PRIMARY KEY, time INTEGER NOT NULL)`;
const INSERT_COMMIT = 'INSERT OR REPLACE INTO log_commit (revision, time) VALUES (?, ?)';
const SELECT_LAST_COMMIT = 'SELECT revision, time FROM log_commit ORDER BY revision DESC LIMIT 1';
const COMMITS_AT_ONCE = 1000;
const SELECT_COMMITS = `SELECT revision, time FROM log_commit WHERE revision > ? ORDER BY revision LIMIT ${COMMITS_AT_ONCE}`;
const DELETE_COMMITS = 'DELETE FROM log_commit WHERE revision < ?';
const SELECT_CHANGES = `
  SELECT revision, key, deleted, created, previous, expires, value FROM change
  WHERE revision > ? AND revision <= ? ORDER BY revision`;

/** The position of the log in a store's file. */
export interface LogPosition {
  readonly identity: string;
  /** The last revision, and the time of its commit. */
  readonly revision: number;
  readonly timeMs: number;
}

export class LogRows {
  readonly #database: DatabaseSync;
  readonly #statements: PreparedStatements;
  #identity: string | undefined;
  #lastMs = 0;

  constructor(database: DatabaseSync, statements: PreparedStatements) {
    this.#database = database;
    this.#statements = statements;
  }

  /** Continues the log of an earlier run: writes before `begin` are recorded too. */
  resume(revision: number): void {
    const known = logPosition(this.#database);
    if (known?.revision !== revision) return;
    this.#lastMs = known.timeMs;
    this.#identity = known.identity;
  }

  /** Resolves to the identity: the known one if every commit up to this revision was recorded. */
  begin(newIdentity: string, revision: number, nowMs: number): string {
    const known = logPosition(this.#database);
    if (known !== undefined && known.revision === revision) {
      this.#lastMs = known.timeMs;
      return (this.#identity = known.identity);
    }
    this.#database.exec('BEGIN IMMEDIATE');
    this.#database.exec(`${TABLES}; DELETE FROM log_identity; DELETE FROM log_commit`);
    this.#database.prepare('INSERT INTO log_identity VALUES (?)').run(newIdentity);
    this.#database.prepare(INSERT_COMMIT).run(revision, nowMs);
    this.#database.exec('COMMIT');
    this.#lastMs = nowMs;
    return (this.#identity = newIdentity);
  }

  /** Records the time of the commit that ends with this revision, inside its transaction. */
  record(revision: number, nowMs: number): void {
    if (this.#identity === undefined) return;
    this.#lastMs = Math.max(this.#lastMs, nowMs);
    this.#statements.prepare(INSERT_COMMIT).run(revision, this.#lastMs);
  }

  /** Forgets the times of what is compacted, inside its transaction. */
  compacted(revision: number): void {
    if (this.#identity !== undefined) this.#statements.prepare(DELETE_COMMITS).run(revision);
  }

  *#commitsAfter(after: number): Generator<CommitRow> {
    for (let at = after; ;) {
      const commitRows = this.#statements.prepare<CommitRow>(SELECT_COMMITS).all(at);
      yield* commitRows;
      if (commitRows.length < COMMITS_AT_ONCE) return;
      at = commitRows.at(-1)!.revision;
    }
  }

  /** A part below `maxBytes` is complete. Throws `StoreError` compacted where changes after the revision are gone. */
  read(after: number, maxBytes: number, compactedRevision: number): LogPart | undefined {
    if (this.#identity === undefined) throw new StoreError('unavailable', 'the change log has not begun');
    if (after < compactedRevision) throw compactedError(after, compactedRevision);
    const commits: Uint8Array[] = [];
    let [to, bytes, firstMs, lastMs] = [after, 0, 0, 0];
    for (const { revision, time } of this.#commitsAfter(after)) {
      const rows = this.#statements.prepare<ChangeRow>(SELECT_CHANGES).all(to, revision);
      if (rows.length !== revision - to)
        throw new StoreError('corrupt', `the store's file lacks changes between revisions ${to} and ${revision}`);
      const commit = encodeCommit({ timeMs: time, changes: rows.map(toChange) });
      if (commits.length === 0) firstMs = time;
      commits.push(commit);
      [to, lastMs] = [revision, time];
      if ((bytes += commit.byteLength) >= maxBytes) break;
    }
    if (commits.length === 0) return undefined;
    return { after, to, firstMs, lastMs, bytes: encodePart({ identity: this.#identity, after, to }, commits) };
  }
}

/** The position of a file's log; undefined when the file has none, or has unrecorded changes. */
export function logPosition(database: DatabaseSync): LogPosition | undefined {
  const tables = database.prepare(
    "SELECT count(*) AS n FROM sqlite_schema WHERE name IN ('log_identity', 'log_commit')",
  );
  if (Number(tables.get()!['n']) !== 2) return undefined;
  const identity = database.prepare('SELECT identity FROM log_identity').get()?.['identity'];
  const last = database.prepare(SELECT_LAST_COMMIT).get();
  const changed = Number(database.prepare(SELECT_LAST_REVISION).get()!['revision'] ?? 0);
  // A last change that is compacted, a deletion, has no row.
  if (typeof identity !== 'string' || last === undefined || Number(last['revision']) < changed) return undefined;
  return { identity, revision: Number(last['revision']), timeMs: Number(last['time']) };
}

/** Ends the log of a file: what is written to it from here on is another life of the store. */
export function dropLog(database: DatabaseSync): void {
  database.exec('DROP TABLE IF EXISTS log_identity; DROP TABLE IF EXISTS log_commit');
}

function toChange({ revision, key, deleted, created, previous, expires, value }: ChangeRow): LoggedChange {
  const bytes = value ?? new Uint8Array(); // An empty value comes back as NULL.
  return { revision, key, created, previous, expiresMs: expires ?? -1, value: deleted === 1 ? undefined : bytes };
}
