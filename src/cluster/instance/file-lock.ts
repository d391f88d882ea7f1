/**
 * A file lock that the kernel releases however its process ends: SQLite's exclusive lock (fcntl) on an empty
 * database, since Node.js has no flock. Only users who may open the file can hold it, so nobody else can prevent an
 * instance from starting.
 */
import { closeSync, constants, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

export interface FileLock {
  release(): void;
}

const SQLITE_BUSY = 5;

/** Takes the lock; undefined while another process holds it. The file remains when the lock is released. */
export function takeFileLock(path: string): FileLock | undefined {
  // Created here for its mode, and closed before SQLite opens it: closing it later would release the lock.
  closeSync(openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o600));
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
  return { release: () => database.close() };
}
