/** SQLite's result codes as the store's errors, with what can be done about them. */
import { StoreError } from '../store.ts';

/** Primary result codes; see sqlite.org/rescode.html. */
const CODES = { busy: 5, locked: 6, ioError: 10, corrupt: 11, full: 13, notADatabase: 26 } as const;

/** `doing` names the failed operation, e.g. `writing`. */
export function storeErrorOf(error: unknown, doing: string): StoreError {
  if (error instanceof StoreError) return error;
  const { errcode, message } = error as { errcode?: number; message: string };
  const primary = (errcode ?? 0) & 0xff;
  const text = `${doing}: ${message}`;
  if (primary === CODES.busy || primary === CODES.locked) {
    return new StoreError('unavailable', `${text} (another process has the store open)`, { cause: error });
  }
  if (primary === CODES.corrupt || primary === CODES.notADatabase) {
    return new StoreError('corrupt', `${text} (restore the file from a backup, or move it away to start empty)`, {
      cause: error,
    });
  }
  if (primary === CODES.full)
    return new StoreError('full', `${text} (free space on its file system)`, { cause: error });
  // A failed sync leaves open whether the pages reached the disk.
  if (primary === CODES.ioError && doing === 'writing') return new StoreError('unknownOutcome', text, { cause: error });
  return new StoreError('unavailable', text, { cause: error });
}
