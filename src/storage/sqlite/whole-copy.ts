/**
 * A copy of an open database while it is used, by sqlite3_backup.
 *
 * Steps of the copy run on another thread. A first step that meets a transaction of the same connection ends it: Node.js takes
 * SQLite's "locked" for the end of the copy, and rejects with the error of the other file, which has none.
 */
import { backup, type DatabaseSync } from 'node:sqlite';

/** Transactions last some milliseconds, an attempt some hundred microseconds. */
const MAX_ATTEMPTS = 10_000;

/** Copies everything to a new file, so many pages at a time. Rejects with SQLite's errors. */
export async function copyWhole(source: DatabaseSync, to: string, rate?: number): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await backup(source, to, rate === undefined ? {} : { rate });
      return;
    } catch (error) {
      const { errcode } = error as { errcode?: number };
      if (errcode !== 0 || attempt >= MAX_ATTEMPTS) throw error;
    }
  }
}
