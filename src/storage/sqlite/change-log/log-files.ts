/** The change log of closed store files: its position, and changes added to a copy. */
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { StoreError } from '../../store.ts';
import { storeErrorOf } from '../errors.ts';
import { INSERT_CHANGE } from '../statements.ts';
import { type LogPosition, logPosition } from './log-rows.ts';
import type { LoggedChange, ReadPart } from './parts.ts';

/** The position of a snapshot's log, which stays unchanged; undefined when it has none. Throws `StoreError`. */
export function readLogPosition(path: string): LogPosition | undefined {
  let database: DatabaseSync | undefined;
  try {
    const url = pathToFileURL(path);
    url.searchParams.set('immutable', '1'); // No further files are created beside it, which its journal mode would require.
    database = new DatabaseSync(url, { readOnly: true });
    return logPosition(database);
  } catch (error) {
    throw storeErrorOf(error, `reading ${path}`);
  } finally {
    database?.close();
  }
}

/** The same of a store that was not closed in order. Its lock must be free. Throws `StoreError`. */
export function recoverLogPosition(path: string): LogPosition | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    return logPosition(database);
  } catch (error) {
    throw storeErrorOf(error, `reading ${path}`);
  } finally {
    database?.close();
  }
}

/** The last change that belongs to a state: a revision, or the last commit of a time or before. */
export type LogEnd = { readonly revision: number } | { readonly timeMs: number };

/** Adds changes to a copy of a store, part by part, as the store itself would have written them. */
export class LogReplay {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #from: LogPosition;
  readonly #end: LogEnd;
  #revision: number;
  #timeMs: number;
  #isAtEnd = false;

  /** Throws `StoreError`. */
  constructor(path: string, from: LogPosition, end: LogEnd) {
    this.#path = path;
    this.#from = from;
    this.#end = end;
    this.#revision = from.revision;
    this.#timeMs = from.timeMs;
    try {
      this.#database = new DatabaseSync(path);
      this.#database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF');
    } catch (error) {
      throw storeErrorOf(error, `opening ${path}`);
    }
  }

  get revision(): number {
    return this.#revision;
  }

  get timeMs(): number {
    return this.#timeMs;
  }

  /** Whether a change beyond the end was met: what is here is then the whole state. */
  get isAtEnd(): boolean {
    return this.#isAtEnd;
  }

  /** Throws `StoreError` corrupt where the part does not continue what is there. */
  add(part: ReadPart): void {
    if (this.#isAtEnd || part.to <= this.#revision) return;
    if (part.identity !== this.#from.identity) throw this.#broken('is of another store');
    if (part.after > this.#revision) throw this.#broken(`lacks the changes up to revision ${part.after}`);
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      for (const { timeMs, changes } of part.commits) {
        if (changes.at(-1)!.revision <= this.#revision) continue;
        if ('timeMs' in this.#end && timeMs > this.#end.timeMs) this.#isAtEnd = true;
        for (const change of changes) this.#addChange(change);
        if (this.#isAtEnd) break;
        this.#timeMs = timeMs;
      }
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw storeErrorOf(error, `adding changes to ${this.#path}`);
    }
  }

  close(): void {
    this.#database.close();
  }

  #addChange({ revision, key, created, previous, expiresMs, value }: LoggedChange): void {
    if ('revision' in this.#end && revision > this.#end.revision) this.#isAtEnd = true;
    if (this.#isAtEnd || revision <= this.#revision) return;
    if (revision !== this.#revision + 1) throw this.#broken(`lacks revision ${this.#revision + 1}`);
    const deleted = value === undefined ? 1 : 0;
    const expires = expiresMs < 0 ? null : expiresMs;
    this.#database.prepare(INSERT_CHANGE).run(revision, key, deleted, created, previous, expires, value ?? null);
    this.#revision = revision;
  }

  #broken(what: string): StoreError {
    return new StoreError('corrupt', `the change log after revision ${this.#revision} ${what}`);
  }
}
