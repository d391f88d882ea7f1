/** Store files hold every Secret: nobody but their owner reads them, wherever they lie and whoever made them. */
import { chmodSync, closeSync, openSync } from 'node:fs';

const MODE = 0o600;
const ABSENT: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR']);

/**
 * Makes the file when it is missing and takes others' rights off it and off SQLite's files beside it, which get its mode when
 * SQLite makes them. An existing file is not opened: to close it would free SQLite's locks in this process.
 */
export function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', MODE));
  } catch {
    // It is there, or cannot be made: then SQLite says why.
  }
  for (const suffix of ['', '-wal', '-shm', '-journal']) {
    try {
      chmodSync(`${path}${suffix}`, MODE);
    } catch (error) {
      if (!ABSENT.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
}
