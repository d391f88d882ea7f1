/**
 * Reconstructs the store's state at a moment: a copy of the nearest snapshot, plus the changes after it up to the
 * moment.
 */
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dateOf } from '../../../api/time.ts';
import { hasErrorCode } from '../../../base/errors.ts';
import type { Files } from '../../../platform/files.ts';
import { makePrivate } from '../../../storage/sqlite/private-file.ts';
import { type LogEnd, LogReplay, readLogPosition } from '../../../storage/sqlite/change-log/log-files.ts';
import { readParts } from '../../../storage/sqlite/change-log/parts.ts';
import { StoreError } from '../../../storage/store.ts';
import { PreflightError } from '../../preflight-error.ts';
import { listSnapshots } from '../snapshot-folder.ts';
import type { SnapshotSeries } from '../snapshot-names.ts';
import { listLogFiles, listLogs } from './log-folder.ts';
import {
  isLogOf,
  LOG_FOLDER,
  logFolderName,
  type LogContent,
  type LogPath,
  logPathTo,
  type LogRange,
  logRanges,
  type LogSegment,
  readLogContent,
} from './log-names.ts';
import { listBucketLogs, type LogBucket } from './log-remote.ts';

/** Where snapshots and logs are kept. */
export interface LogLocations {
  readonly files: Files;
  readonly snapshotDir: string;
  readonly series: SnapshotSeries;
  readonly bucket: (LogBucket & { download(name: string, path: string): Promise<void> }) | undefined;
}

/** A log that is in the folder, in the bucket or in both. */
export interface FoundLog extends LogContent {
  readonly folder: string;
  /** Names of the files in the folder of snapshots, including the snapshots. */
  readonly here: Set<string>;
}

/** The reconstructed state. */
export interface BuiltMoment {
  readonly snapshot: string;
  readonly revision: number;
  /** When its last change was committed. */
  readonly timeMs: number;
}

/** The logs of all series, or of one. */
export async function findLogs({
  files,
  snapshotDir,
  series,
  bucket,
}: Omit<LogLocations, 'series'> & Partial<Pick<LogLocations, 'series'>>): Promise<readonly FoundLog[]> {
  const snapshotsHere = (await listSnapshots(files, snapshotDir)).map(({ name }) => name);
  const snapshotsThere = bucket === undefined ? [] : (await bucket.list()).map(({ name }) => name);
  const there = bucket === undefined ? new Map<string, never>() : await listBucketLogs(bucket);
  const folders = new Set([...(await listLogs(files, snapshotDir)), ...there.keys()]);
  const logs: FoundLog[] = [];
  for (const folder of folders) {
    if (series !== undefined && !isLogOf(series, folder)) continue;
    const here = await listLogFiles(files, `${snapshotDir}/${LOG_FOLDER}/${folder}`);
    const names = new Set(here.map(({ name }) => name));
    const all = [...here, ...(there.get(folder) ?? []).filter(({ name }) => !names.has(name))];
    const content = readLogContent(all, new Set([...snapshotsHere, ...snapshotsThere]));
    logs.push({ folder, ...content, here: new Set([...names, ...snapshotsHere]) });
  }
  return logs;
}

/**
 * The last change of the cluster's present store, when it is stopped: if its log contains that change, nothing is
 * missing.
 */
export interface LastChange {
  readonly identity: string;
  readonly revision: number;
}

/**
 * Writes the state to a new file. Rejects with `PreflightError` when no log leads to the moment, with `StoreError`
 * for damaged ones.
 */
export async function buildMoment(
  locations: LogLocations,
  { end, last }: { readonly end: LogEnd | 'latest'; readonly last?: LastChange | undefined },
  target: string,
): Promise<BuiltMoment> {
  const logs = await findLogs(locations);
  const present = last && { folder: logFolderName(locations.series, last.identity), revision: last.revision };
  const { log, path, until } = choosePath(logs, end, present);
  const folder = await mkdtemp(join(tmpdir(), 'keelson-log-'));
  try {
    makePrivate(target);
    await fetch(locations, log, { name: path.base.snapshot, from: '', to: target });
    const position = readLogPosition(target);
    const isOfLog = position !== undefined && logFolderName(locations.series, position.identity) === log.folder;
    if (!isOfLog || position.revision !== path.base.revision)
      throw new PreflightError(`the snapshot ${path.base.snapshot} is not the one that the log ${log.folder} has`);
    const replay = new LogReplay(target, position, until);
    try {
      const file = join(folder, 'segment');
      for (const wanted of path.segments) {
        const { name, to } = await fetchSegment(locations, log, wanted, file);
        const parts = await readParts(await readFile(file), name);
        // zeros after a gzip member are treated as padding
        if (parts.at(-1)?.to !== to)
          throw new StoreError('corrupt', `the change log ${name} is damaged: its end is missing`);
        for (const part of parts) replay.add(part);
      }
      const isLast = log.folder === present?.folder && replay.revision === present.revision;
      const isWhole = 'revision' in until ? replay.revision === until.revision : replay.isAtEnd || isLast;
      if (!isWhole) throw new PreflightError(`the log ${log.folder} ends at revision ${replay.revision}`);
      return { snapshot: path.base.snapshot, revision: replay.revision, timeMs: replay.timeMs };
    } finally {
      replay.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Uses the log of the present store if it leads to the moment, else the latest one that does. */
function choosePath(
  logs: readonly FoundLog[],
  end: LogEnd | 'latest',
  present: { readonly folder: string; readonly revision: number } | undefined,
): { readonly log: FoundLog; readonly path: LogPath; readonly until: LogEnd } {
  const found = logs.flatMap((log) => {
    const until = end === 'latest' ? { revision: logRanges(log).at(-1)?.toRevision ?? 0 } : end;
    const path = logPathTo(log, until, log.folder === present?.folder ? present.revision : undefined);
    return path === undefined ? [] : [{ log, path, until }];
  });
  const latest = found.toSorted((one, other) => other.path.base.timeMs - one.path.base.timeMs)[0];
  const chosen = found.find(({ log }) => log.folder === present?.folder) ?? latest;
  if (chosen !== undefined) return chosen;
  const ranges = logs.flatMap((each) => logRanges(each)).map(rangeText);
  if (ranges.length === 0)
    throw new PreflightError('no log of changes is kept with these snapshots: --snapshot-log keeps one');
  throw new PreflightError(`that moment cannot be restored; what can: ${ranges.join(', ')}`);
}

/** `2026-01-31T12:00:00.250Z (revision 300) to 2026-01-31T13:00:00.100Z (revision 4711)`. */
function rangeText({ fromMs, fromRevision, toMs, toRevision }: LogRange): string {
  return `${dateOf(fromMs).toISOString()} (revision ${fromRevision}) to ${dateOf(toMs).toISOString()} (revision ${toRevision})`;
}

/** Resolves to the segment that was fetched, which is longer than wanted when a running server has replaced it. */
async function fetchSegment(
  locations: LogLocations,
  log: FoundLog,
  wanted: LogSegment,
  to: string,
): Promise<LogSegment> {
  const folder = `${LOG_FOLDER}/${log.folder}`;
  for (let segment = wanted; ;) {
    try {
      await fetch(locations, log, { name: segment.name, from: `${folder}/`, to });
      return segment;
    } catch (error) {
      if (!hasErrorCode(error, 'ENOENT')) throw error;
      const { after, name } = segment;
      const { segments } = readLogContent(await listLogFiles(locations.files, `${locations.snapshotDir}/${folder}`));
      const longer = segments.find((each) => each.after <= after && each.to > segment.to);
      if (longer === undefined) throw new PreflightError(`${folder}/${name} is gone`);
      log.here.add(longer.name);
      segment = longer;
    }
  }
}

async function fetch(
  { snapshotDir, bucket }: LogLocations,
  { here }: FoundLog,
  { name, from, to }: { readonly name: string; readonly from: string; readonly to: string },
): Promise<void> {
  if (here.has(name)) return copyFile(`${snapshotDir}/${from}${name}`, to);
  if (bucket === undefined) throw new PreflightError(`${from}${name} is gone`);
  await rm(to, { force: true }); // a download needs a new file
  await bucket.download(`${from}${name}`, to);
}
