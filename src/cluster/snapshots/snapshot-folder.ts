/** The folder that snapshots are kept in: what is in it, and what goes. Upstream: k3s's `--etcd-snapshot-dir`. */
import { hasErrorCode } from '../../base/errors.ts';
import type { Files } from '../../platform/files.ts';
import { PreflightError } from '../preflight-error.ts';
import { createdMsOf, excessSnapshots, type SnapshotFile, type SnapshotSeries } from './snapshot-names.ts';

/** Where a data directory keeps its snapshots unless the user names a folder. */
export function defaultSnapshotDir(dataDir: string): string {
  return `${dataDir}/snapshots`;
}

/** Left by processes that were killed, and SQLite's files beside a database that is open. */
const NO_SNAPSHOT = /\.partial(-journal)?$|-(wal|shm|journal)$/;

/**
 * Makes the folder ready. Only the default one is made: a folder of the user's that is absent may be a disk that is not
 * mounted, and what is written in its place would fill the wrong disk. Rejects with `PreflightError`.
 */
export async function readySnapshotDir(files: Files, dir: string, dataDir: string): Promise<void> {
  if (dir === defaultSnapshotDir(dataDir)) return files.makeDir(dir, { mode: 0o700 });
  const stat = await files.stat(dir).catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) throw new PreflightError(`the folder of snapshots ${dir} is not there`);
    throw error;
  });
  if (stat.kind !== 'directory') throw new PreflightError(`the folder of snapshots ${dir} is no directory`);
}

/** All snapshots of a folder, the newest first; none where there is no folder. */
export async function listSnapshots(files: Files, dir: string): Promise<readonly SnapshotFile[]> {
  const names = await files.readDir(dir).catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) return [];
    throw error;
  });
  const found: SnapshotFile[] = [];
  for (const name of names.filter((each) => !NO_SNAPSHOT.test(each))) {
    const stat = await files.lstat(`${dir}/${name}`).catch(() => undefined); // It may go meanwhile.
    if (stat?.kind === 'file')
      found.push({ name, sizeBytes: stat.sizeBytes, createdMs: createdMsOf(name) ?? stat.mtimeMs });
  }
  return found.toSorted((one, other) => other.createdMs - one.createdMs);
}

/** Removes those of a series beyond the newest `retention`; resolves to their names. */
export async function pruneSnapshots(
  files: Files,
  dir: string,
  { series, ...limit }: { readonly series: SnapshotSeries; readonly retention: number; readonly nowMs: number },
): Promise<readonly string[]> {
  const excess = excessSnapshots(await listSnapshots(files, dir), series, limit);
  for (const { name } of excess) await files.remove(`${dir}/${name}`);
  return excess.map(({ name }) => name);
}

/** Removes what saves of this series left when their process was killed. No other save of it may be under way. */
export async function removePartials(files: Files, dir: string, { base, nodeName }: SnapshotSeries): Promise<void> {
  for (const name of await files.readDir(dir))
    if (name.startsWith(`${base}-${nodeName}-`) && /\.[0-9a-f]{16}\.partial(-journal)?$/.test(name))
      await files.remove(`${dir}/${name}`);
}
