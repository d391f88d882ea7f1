/** Publishes complete files in folders that other users may write to, for example a snapshot in /tmp. */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasErrorCode } from '../../base/errors.ts';

/** A name that cannot have been taken or linked elsewhere before: the folder may be one that others write to. */
export function partialBeside(file: string): string {
  return `${file}.${randomBytes(8).toString('hex')}.partial`;
}

/** Synced, then renamed; over file systems, copied beside the target first. */
export async function publish(from: string, to: string): Promise<void> {
  await sync(from);
  try {
    await rename(from, to);
  } catch (error) {
    if (!hasErrorCode(error, 'EXDEV')) throw error;
    const beside = partialBeside(to);
    try {
      await copyFile(from, beside, constants.COPYFILE_EXCL);
      await sync(beside);
      await rename(beside, to);
    } finally {
      await rm(beside, { force: true });
    }
  }
  await sync(dirname(to));
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
