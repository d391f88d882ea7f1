/** The folder of snapshots: prepares, lists and prunes it. Upstream: k3s's `--etcd-snapshot-dir`. */
import { hasErrorCode } from '../../base/errors.ts';
import type { Files } from '../../platform/files.ts';
import { PreflightError } from '../preflight-error.ts';
import { createdMsOf, excessSnapshots, type SnapshotFile, type SnapshotSeries } from './snapshot-names.ts';

/** The folder of snapshots in a data directory, unless the user chooses another. */
export function defaultSnapshotDir(dataDir: string): string {
  return `${dataDir}/snapshots`;
}

/** Partial files of killed processes, and SQLite's files beside an open database. */
const NO_SNAPSHOT = /\.partial(-journal)?$|-(wal|shm|journal)$/;

/**
 * Creates the default folder if needed. A folder that the user chose must exist: it may be an unmounted disk, and
 * snapshots would fill the wrong disk in its place. Rejects with `PreflightError`.
 */
export async function readySnapshotDir(files: Files, dir: string, dataDir: string): Promise<void> {
  if (dir === defaultSnapshotDir(dataDir)) return files.makeDir(dir, { mode: 0o700 });
  const stat = await files.stat(dir).catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) throw new PreflightError(`the folder of snapshots ${dir} is not there`);
    throw error;
  });
  if (stat.kind !== 'directory') throw new PreflightError(`the folder of snapshots ${dir} is no directory`);
}

/** All snapshots of a folder, the newest first; none where the folder does not exist. */
export async function listSnapshots(files: Files, dir: string): Promise<readonly SnapshotFile[]> {
  const names = await files.readDir(dir).catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) return [];
    throw error;
  });
  const snapshotFiles: SnapshotFile[] = [];
  for (const name of names.filter((each) => !NO_SNAPSHOT.test(each))) {
    const stat = await files.lstat(`${dir}/${name}`).catch(() => undefined); // may be deleted in the meantime
    if (stat?.kind === 'file')
      snapshotFiles.push({ name, sizeBytes: stat.sizeBytes, createdMs: createdMsOf(name) ?? stat.mtimeMs });
  }
  return snapshotFiles.toSorted((one, other) => other.createdMs - one.createdMs);
}

/** Removes the snapshots of a series beyond the newest `retention`; resolves to their names. */
export async function pruneSnapshots(
  files: Files,
  dir: string,
  { series, ...limit }: { readonly series: SnapshotSeries; readonly retention: number; readonly nowMs: number },
): Promise<readonly string[]> {
  const excess = excessSnapshots(await listSnapshots(files, dir), series, limit);
  for (const { name } of excess) await files.remove(`${dir}/${name}`);
  return excess.map(({ name }) => name);
}

/** Removes partial files of this series that killed processes left. No other save of it may be in progress. */
export async function removePartials(files: Files, dir: string, { base, nodeName }: SnapshotSeries): Promise<void> {
  for (const name of await files.readDir(dir))
    if (name.startsWith(`${base}-${nodeName}-`) && /\.[0-9a-f]{16}\.partial(-journal)?$/.test(name))
      await files.remove(`${dir}/${name}`);
}
