/**
 * Mirrors a change log from the folder to a bucket: uploads new segments and removes files that are no longer needed.
 */
import { hasErrorCode } from '../../../base/errors.ts';
import type { Files } from '../../../platform/files.ts';
import type { SnapshotFile, SnapshotSeries } from '../snapshot-names.ts';
import { excessSegments, isLogOf, LOG_FOLDER, type LogFile, readLogContent } from './log-names.ts';
import { listLogFiles } from './log-folder.ts';

/** The operations of a bucket that a log needs. */
export interface LogBucket {
  list(): Promise<readonly SnapshotFile[]>;
  /** The names include the subfolders. */
  listBelow(folder: string): Promise<readonly LogFile[]>;
  upload(path: string, name: string): Promise<void>;
  remove(name: string): Promise<void>;
}

/** The logs in a bucket by their folder names. */
export async function listBucketLogs(bucket: LogBucket): Promise<ReadonlyMap<string, readonly LogFile[]>> {
  const logs = new Map<string, LogFile[]>();
  for (const { name, sizeBytes } of await bucket.listBelow(LOG_FOLDER)) {
    const [folder = '', file = '', ...rest] = name.slice(LOG_FOLDER.length + 1).split('/');
    if (file === '' || rest.length > 0) continue;
    const files = logs.get(folder);
    if (files === undefined) logs.set(folder, [{ name: file, sizeBytes }]);
    else files.push({ name: file, sizeBytes });
  }
  return logs;
}

interface RemoteLogDeps {
  readonly files: Files;
  /** The log's folder on this machine. */
  readonly logDir: string;
  readonly folder: string;
  readonly series: SnapshotSeries;
  readonly maxBytes: number;
}

export class LogRemote {
  readonly #place: RemoteLogDeps;
  /** This log's files in the bucket; undefined until they are listed. */
  #known: Map<string, number> | undefined;
  #snapshots: ReadonlySet<string> = new Set();

  constructor(place: RemoteLogDeps) {
    this.#place = place;
  }

  /** Notes that the bucket's snapshots may have changed. */
  forget(): void {
    this.#known = undefined;
  }

  async sync(bucket: LogBucket): Promise<void> {
    const { files, logDir, folder } = this.#place;
    try {
      // `forget` may be called in the meantime.
      const known = (this.#known ??= await this.#list(bucket));
      const here = readLogContent(await listLogFiles(files, logDir), this.#snapshots);
      for (const { name, sizeBytes } of [...here.segments, ...here.bases]) {
        if (known.has(name)) continue;
        if (await uploaded(bucket, `${logDir}/${name}`, `${LOG_FOLDER}/${folder}/${name}`)) known.set(name, sizeBytes);
      }
      await this.#prune(bucket, known);
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  async #prune(bucket: LogBucket, known: Map<string, number>): Promise<void> {
    const { folder, maxBytes } = this.#place;
    const listed = [...known].map(([name, sizeBytes]) => ({ name, sizeBytes }));
    const content = readLogContent(listed, this.#snapshots);
    for (const name of [...content.useless, ...excessSegments(content.segments, maxBytes)]) {
      await bucket.remove(`${LOG_FOLDER}/${folder}/${name}`);
      known.delete(name);
    }
  }

  /** Lists the bucket, and removes logs of the series without a snapshot. */
  async #list(bucket: LogBucket): Promise<Map<string, number>> {
    const { folder, series } = this.#place;
    this.#snapshots = new Set((await bucket.list()).map(({ name }) => name));
    const logs = await listBucketLogs(bucket);
    for (const [other, files] of logs) {
      if (other === folder || !isLogOf(series, other)) continue;
      if (readLogContent(files, this.#snapshots).bases.length > 0) continue;
      for (const { name } of files) await bucket.remove(`${LOG_FOLDER}/${other}/${name}`);
    }
    return new Map((logs.get(folder) ?? []).map(({ name, sizeBytes }) => [name, sizeBytes]));
  }
}

/** False when the file has vanished because a longer segment replaced it, which is uploaded next time. */
async function uploaded(bucket: LogBucket, path: string, name: string): Promise<boolean> {
  try {
    await bucket.upload(path, name);
    return true;
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return false;
    throw error;
  }
}
