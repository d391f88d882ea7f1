/**
 * Checks the owner of a data directory: another user could replace any file in it by a link that this user would
 * follow.
 */
import { statSync } from 'node:fs';
import { PreflightError } from '../preflight-error.ts';

/** Throws `PreflightError` for a directory of another user; a missing one will be this user's. */
export function checkOwnDataDir(dataDir: string): void {
  const uid = process.geteuid?.();
  const owner = statSync(dataDir, { throwIfNoEntry: false })?.uid;
  if (owner === undefined || uid === undefined || owner === uid) return;
  const whose = owner === 0 ? 'root' : `the user with id ${owner}`;
  throw new PreflightError(`the data directory ${dataDir} belongs to ${whose}, who could lead writes out of it`);
}
