/**
 * A lock of one file that the kernel frees however its process ends: SQLite's exclusive lock (fcntl) on an empty database,
 * as Node.js has no flock. Only who may open the file can hold it, so nobody else can keep an instance from starting.
 */
import { closeSync, constants, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

export interface FileLock {
  release(): void;
}

const SQLITE_BUSY = 5;

/** Takes the lock; undefined while another process has it. The file stays when the lock is released. */
export function takeFileLock(path: string): FileLock | undefined {
  // Made here for its mode. It is closed before SQLite opens it: closing it later would free the lock.
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
