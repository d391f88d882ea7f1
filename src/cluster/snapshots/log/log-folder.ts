/** Lists the files of change logs in a folder of snapshots. */
import { hasErrorCode } from '../../../base/errors.ts';
import type { Files } from '../../../platform/files.ts';
import { LOG_FOLDER, type LogFile } from './log-names.ts';

/** Leaves out partial files of killed processes. */
const NAME = /^\d+-[^/]+\.(log\.gz|base)$/;

/** Names of the logs in a folder of snapshots. */
export async function listLogs(files: Files, snapshotDir: string): Promise<readonly string[]> {
  return readDirIfThere(files, `${snapshotDir}/${LOG_FOLDER}`);
}

/** A server replaces a segment about every ten seconds. */
const MAX_LISTINGS = 10;

/**
 * The files of one log; none where it does not exist. Lists again when a file vanished because a longer segment
 * replaced it.
 */
export async function listLogFiles(files: Files, logDir: string): Promise<readonly LogFile[]> {
  for (let listing = 1; ; listing++) {
    const logFiles: LogFile[] = [];
    let isWhole = true;
    for (const name of (await readDirIfThere(files, logDir)).filter((each) => NAME.test(each))) {
      const stat = await files.lstat(`${logDir}/${name}`).catch(() => undefined);
      if (stat === undefined) isWhole = false;
      else if (stat.kind === 'file') logFiles.push({ name, sizeBytes: stat.sizeBytes });
    }
    if (isWhole || listing === MAX_LISTINGS) return logFiles;
  }
}

async function readDirIfThere(files: Files, dir: string): Promise<readonly string[]> {
  return files.readDir(dir).catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) return [];
    throw error;
  });
}
