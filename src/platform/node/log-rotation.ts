/**
 * Rotates the log file of a process in the background (`<data-dir>/logs/keelson.log`, `dns.log`): above 64 MiB the
 * file is copied to `.1`, older ones move up to `.3`, and it is truncated. It is not renamed, since the runtime has
 * the same descriptor and writes its fatal errors there.
 */
import { copyFile, rm, stat, truncate } from 'node:fs/promises';
import { copyFileSync, fstatSync, ftruncateSync, renameSync, rmSync, statSync } from 'node:fs';
import { hasErrorCode } from '../../base/errors.ts';

/** The size limit of one file, and the number of old files that are kept. */
const MAX_BYTES = 64 * 1024 * 1024;
const KEPT = 3;

/** The environment variable with the path of the file behind standard error. */
export const LOG_FILE_VARIABLE = 'KEELSON_LOG_FILE';

export interface RotationOptions {
  readonly maxBytes?: number;
  readonly copy?: (from: string, to: string) => void;
}

/** Counts written bytes and rotates beyond the limit. `path` is the descriptor's file. */
export function createRotation(
  fd: number,
  path: string,
  { maxBytes = MAX_BYTES, copy = copyFileSync }: RotationOptions = {},
): (bytes: number) => void {
  const step = maxBytes / 64;
  let sinceCheck = step;
  return (bytes) => {
    sinceCheck += bytes;
    if (sinceCheck < step) return;
    sinceCheck = 0;
    try {
      const open = fstatSync(fd);
      if (!open.isFile() || open.size < maxBytes || open.ino !== statSync(path).ino) return;
      rotate(fd, path, copy);
    } catch {
      // Without space or permission the log continues unrotated.
    }
  };
}

/** Rotates another program's file by copy and truncation: what it appends in between is lost. */
export async function rotateLarge(
  path: string,
  maxBytes = MAX_BYTES,
  copy: (from: string, to: string) => Promise<void> = copyFile,
): Promise<void> {
  const { size } = await stat(path);
  if (size < maxBytes) return;
  try {
    await copy(path, partialOf(path));
    keepCopy(path);
  } catch (error) {
    await rm(partialOf(path), { force: true });
    if (isFull(error)) await truncate(path, 0);
    throw error;
  }
  await truncate(path, 0);
}

function rotate(fd: number, path: string, copy: (from: string, to: string) => void): void {
  try {
    copy(path, partialOf(path));
    keepCopy(path);
  } catch (error) {
    rmSync(partialOf(path), { force: true });
    if (isFull(error)) ftruncateSync(fd, 0);
    throw error;
  }
  ftruncateSync(fd, 0);
}

/** The path of an unfinished copy: old files move up only once it is complete. */
function partialOf(path: string): string {
  return `${path}.partial`;
}

/** Whether the disk or a quota is full: the file is then truncated without a copy, since it would continue to grow. */
function isFull(error: unknown): boolean {
  return hasErrorCode(error, 'ENOSPC', 'EDQUOT');
}

function keepCopy(path: string): void {
  for (let age = KEPT - 1; age >= 1; age--) {
    try {
      renameSync(`${path}.${age}`, `${path}.${age + 1}`);
    } catch (error) {
      // There may be no file with this number yet.
      if (!hasErrorCode(error, 'ENOENT')) throw error;
    }
  }
  renameSync(partialOf(path), `${path}.1`);
}
