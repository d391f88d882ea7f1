/**
 * The tables of `history.db`. A segment's bytes and the hashes of its keys are in separate tables, so that reads touch few
 * unneeded pages.
 */
import type { DatabaseSync } from 'node:sqlite';

/** Marks a file as Keelson's history ("Kehi"). */
const APPLICATION_ID = 0x4b656869;
const FORMAT_VERSION = 2;

/** Opens the tables, making them in an empty file. Throws when the file is another program's or of a later version. */
export function openHistorySchema(database: DatabaseSync): void {
  database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL');
  // After a loss of power the last seconds may be missing, and nothing else.
  database.exec('PRAGMA synchronous = NORMAL; PRAGMA cache_size = -1024; PRAGMA journal_size_limit = 8388608');
  const read = (name: string): number => Number(database.prepare(`PRAGMA ${name}`).get()![name]);
  const tables = Number(database.prepare('SELECT count(*) AS n FROM sqlite_schema').get()!['n']);
  if (tables > 0 && (read('application_id') !== APPLICATION_ID || read('user_version') !== FORMAT_VERSION))
    throw new Error('the file is no history of this version');
  database.exec(`
    BEGIN IMMEDIATE;
    PRAGMA application_id = ${APPLICATION_ID};
    PRAGMA user_version = ${FORMAT_VERSION};
    CREATE TABLE IF NOT EXISTS segment (
      id INTEGER PRIMARY KEY,
      lane TEXT NOT NULL,
      level INTEGER NOT NULL,
      newest INTEGER NOT NULL,
      ended INTEGER NOT NULL,
      records INTEGER NOT NULL,
      raw INTEGER NOT NULL,
      size INTEGER NOT NULL
    );
    CREATE INDEX IF NOT EXISTS segment_by_lane ON segment (lane, id);
    CREATE TABLE IF NOT EXISTS directory (segment INTEGER PRIMARY KEY, hashes BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS content (segment INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS lane (name TEXT PRIMARY KEY, since INTEGER NOT NULL, since_ms INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS gap (lane TEXT NOT NULL, after INTEGER NOT NULL, until INTEGER NOT NULL, changes INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS covered (revision INTEGER NOT NULL);
    COMMIT;
  `);
}
