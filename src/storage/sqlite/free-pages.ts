/**
 * Pages that compaction emptied go back to the file system, some at a time: SQLite keeps them in the file otherwise. Files
 * of versions that did not allow that are written anew once, when they are opened.
 */
import type { DatabaseSync } from 'node:sqlite';
import { storeErrorOf } from './errors.ts';

/** Pages (of 8 KB) given back in one transaction, which takes some 3 ms at most. */
export const STEP_PAGES = 64;
/** Number of steps after which a checkpoint moves the log into the file, so that no write has a large one to do. */
const CHECKPOINT_STEPS = 16;
/** Free pages stay while they are fewer than this, or fewer than half of the used ones. */
const KEPT_PAGES = 512;
const WORTHWHILE_SHARE = 1 / 2;
/** The fraction of the used pages that stays free for the next writes. */
const SPARE_SHARE = 1 / 8;
/** 512 MB, which take some seconds. The free pages of a larger file are used again but never returned. */
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
