/**
 * Rotates the log file of a process in the background (`<data-dir>/logs/keelson.log`, `dns.log`): beyond 64 MiB the file is
 * copied to `.1`, older ones move up to `.3`, and it is emptied. It is emptied rather than renamed, as the descriptor is also
 * that of the runtime, which writes there why it ended.
 */
import { copyFile, stat, truncate } from 'node:fs/promises';
import { copyFileSync, fstatSync, ftruncateSync, renameSync, statSync } from 'node:fs';

/** What one file may hold, and how many old ones are kept. */
const MAX_BYTES = 64 * 1024 * 1024;
const KEPT = 3;

/** The environment variable by which a starting process tells which file its standard error is. */
export const LOG_FILE_VARIABLE = 'KEELSON_LOG_FILE';

/** Takes note of what was written; rotates when it is too much. `path` is the descriptor's file. */
export function createRotation(fd: number, path: string, maxBytes = MAX_BYTES): (bytes: number) => void {
  const step = maxBytes / 64;
  let sinceCheck = step;
  return (bytes) => {
    sinceCheck += bytes;
    if (sinceCheck < step) return;
    sinceCheck = 0;
    try {
      const open = fstatSync(fd);
      if (!open.isFile() || open.size < maxBytes || open.ino !== statSync(path).ino) return;
      rotate(fd, path);
    } catch {
      // Without room or rights the log goes on as it is: a log that cannot be rotated ends nothing.
    }
  };
}

/**
 * Of another program's file, which it appends to: what it writes between copy and cut is lost. Cut in any case: on a full disk
 * nothing can be copied, and the file would go on to grow.
 */
export async function rotateLarge(path: string, maxBytes = MAX_BYTES): Promise<void> {
  const { size } = await stat(path);
  if (size < maxBytes) return;
  moveOld(path);
  try {
    await copyFile(path, `${path}.1`);
  } finally {
    await truncate(path, 0);
  }
}

function rotate(fd: number, path: string): void {
  moveOld(path);
  try {
    copyFileSync(path, `${path}.1`);
  } finally {
    ftruncateSync(fd, 0);
  }
}

function moveOld(path: string): void {
  for (let age = KEPT - 1; age >= 1; age--) {
    try {
      renameSync(`${path}.${age}`, `${path}.${age + 1}`);
    } catch {
      // There is none of this age yet.
    }
  }
}
