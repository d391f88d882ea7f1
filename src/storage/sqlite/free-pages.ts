/**
 * Returns free pages to the file system in steps; by default SQLite keeps them in the file. Files of older versions,
 * which do not support this, are rewritten once when they are opened.
 */
import type { DatabaseSync } from 'node:sqlite';
import { storeErrorOf } from './errors.ts';

/** Pages (of 8 KB) returned in one transaction, which takes at most about 3 ms. */
export const STEP_PAGES = 64;
/** A checkpoint after this many steps moves the log into the file, so that no write has to move a large one. */
const CHECKPOINT_STEPS = 16;
/** Free pages are kept below this number, and below half of the used pages. */
const KEPT_PAGES = 512;
const WORTHWHILE_SHARE = 1 / 2;
/** The fraction of the used pages that is kept free for the next writes. */
const SPARE_SHARE = 1 / 8;
/** 512 MB, which take some seconds. In a larger file free pages are reused but never returned. */
const REWRITABLE_PAGES = 65_536;

/** Gives free pages back. */
export class FreePages {
  readonly #database: DatabaseSync;
  #steps = 0;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** One step; false when no further step is worthwhile. The last one empties the log and the page cache. */
  step(): boolean {
    const { free, used } = countPages(this.#database);
    const isWorthwhile =
      this.#steps > 0 ? free > used * SPARE_SHARE : free > KEPT_PAGES && free > used * WORTHWHILE_SHARE;
    if (!isWorthwhile || read(this.#database, 'auto_vacuum') === 0) {
      this.#steps = 0;
      this.#database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
      this.#database.exec('PRAGMA shrink_memory');
      return false;
    }
    this.#database.exec(`PRAGMA incremental_vacuum(${STEP_PAGES})`);
    if (++this.#steps % CHECKPOINT_STEPS === 0) this.#database.prepare('PRAGMA wal_checkpoint(PASSIVE)').all();
    return true;
  }
}

/** Rewrites an old file so that it can return pages. No other connection has it open yet. A full disk leaves it as it is. */
export function rewriteOldFile(database: DatabaseSync): void {
  if (read(database, 'auto_vacuum') !== 0 || countPages(database).used > REWRITABLE_PAGES) return;
  try {
    database.exec('PRAGMA auto_vacuum = INCREMENTAL; VACUUM');
    database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
  } catch (error) {
    const failure = storeErrorOf(error, 'giving free pages back');
    if (failure.code !== 'full') throw failure;
  }
}

function countPages(database: DatabaseSync): { free: number; used: number } {
  const free = read(database, 'freelist_count');
  return { free, used: read(database, 'page_count') - free };
}

function read(database: DatabaseSync, pragma: string): number {
  return Number(database.prepare(`PRAGMA ${pragma}`).get()![pragma]);
}
