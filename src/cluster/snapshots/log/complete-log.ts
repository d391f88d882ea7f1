/** Adds the last changes of a stopped store to its log, which a killed process could not do. */
import { access } from 'node:fs/promises';
import type { Platform } from '../../../platform/platform.ts';
import { recoverLogPosition } from '../../../storage/sqlite/change-log/log-files.ts';
import { createSqliteStore } from '../../../storage/sqlite/sqlite-store.ts';
import type { SnapshotSeries } from '../snapshot-names.ts';
import type { LastChange } from './build-moment.ts';
import { listLogFiles } from './log-folder.ts';
import { LOG_FOLDER, logFolderName } from './log-names.ts';
import { LogWriter } from './log-writer.ts';

/** Resolves to the last change of the store; to undefined where it has no log. Rejects when the file cannot be read. */
export async function completeLog(
  { clock, files }: Pick<Platform, 'clock' | 'files'>,
  { storeFile, snapshotDir, series }: { storeFile: string; snapshotDir: string; series: SnapshotSeries },
): Promise<LastChange | undefined> {
  const isThere = await access(storeFile).then(
    () => true,
    () => false,
  );
  const identity = isThere ? recoverLogPosition(storeFile)?.identity : undefined;
  if (identity === undefined) return undefined;
  const store = await createSqliteStore({ path: storeFile, platform: { clock } });
  try {
    const changeLog = store.changeLog!;
    const start = await changeLog.begin(identity);
    const logDir = `${snapshotDir}/${LOG_FOLDER}/${logFolderName(series, identity)}`;
    if ((await listLogFiles(files, logDir)).length > 0) {
      const writer = new LogWriter({ files, clock, changeLog }, logDir, identity);
      await writer.open(start);
      await writer.write();
    }
    return { identity, revision: start.revision };
  } finally {
    await store.close();
  }
}
