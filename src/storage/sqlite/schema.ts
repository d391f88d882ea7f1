/**
 * The tables. `change` is the history, one row per revision: rows are appended and removed by compaction. It has no
 * index by key: the live keys are known in memory (key-index.ts), and an earlier state is computed from the current
 * one by undoing later changes with each row's `previous`.
 */
import type { DatabaseSync } from 'node:sqlite';
import { rewriteOldFile } from './free-pages.ts';

/** Marks a file as a Keelson store ("Keel"). */
const APPLICATION_ID = 0x4b65656c;
const FORMAT_VERSION = 1;

/** Opens the tables, making them in an empty file. Throws when the file is another program's or of a later version. */
export function openSchema(database: DatabaseSync): void {
  // The lock is held while the file is open, so that no second server starts on it.
  database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL');
  database.exec('PRAGMA journal_mode = WAL');
  database.exec('PRAGMA synchronous = FULL; PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY');
  // A checkpoint needs further syncs: one for every 32 MB.
  database.exec('PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 67108864');
  database.exec('BEGIN IMMEDIATE');
  try {
    const tables = Number(database.prepare('SELECT count(*) AS n FROM sqlite_schema').get()!['n']);
    if (tables === 0) createTables(database);
    else checkTables(database);
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
  rewriteOldFile(database);
}

function createTables(database: DatabaseSync): void {
  database.exec(`
    PRAGMA application_id = ${APPLICATION_ID};
    PRAGMA user_version = ${FORMAT_VERSION};
    CREATE TABLE change (
      revision INTEGER PRIMARY KEY,
      key TEXT NOT NULL,
      deleted INTEGER NOT NULL,
      created INTEGER NOT NULL,
      previous INTEGER NOT NULL,
      expires INTEGER,
      value BLOB
    );
    CREATE TABLE compaction (revision INTEGER NOT NULL);
    INSERT INTO compaction VALUES (0);
  `);
}

function checkTables(database: DatabaseSync): void {
  const read = (name: string): number => Number(database.prepare(`PRAGMA ${name}`).get()![name]);
  if (read('application_id') !== APPLICATION_ID) throw new Error('the file is a database of another program');
  const version = read('user_version');
  if (version !== FORMAT_VERSION)
    throw new Error(`the store has format ${version}, this version reads ${FORMAT_VERSION}`);
  // They would change rows as these are written.
  const others = database.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE type IN ('trigger', 'view')").get()!;
  if (Number(others['n']) > 0) throw new Error('the file has triggers or views, which no store has');
}
