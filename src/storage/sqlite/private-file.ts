/** Makes store files readable only for their owner, since they contain every Secret. */
import { chmodSync, closeSync, openSync } from 'node:fs';

const MODE = 0o600;
const ABSENT: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR']);

/**
 * Creates a missing file, and removes others' access to it and to SQLite's files beside it, which get its mode when
 * SQLite creates them. An existing file is not opened: closing it would release SQLite's locks in this process.
 */
export function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', MODE));
  } catch {
    // It exists, or cannot be created, which SQLite then reports.
  }
  for (const suffix of ['', '-wal', '-shm', '-journal']) {
    try {
      chmodSync(`${path}${suffix}`, MODE);
    } catch (error) {
      if (!ABSENT.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
}
