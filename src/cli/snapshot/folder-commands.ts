/** `keelson snapshot ls|prune|delete`: the snapshots that a data directory's server and its user keep in their folder. */
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { dateOf, formatTime } from '../../api/time.ts';
import { readInstanceFile } from '../../cluster/instance/instance-file.ts';
import { defaultSnapshotDir, listSnapshots, pruneSnapshots } from '../../cluster/snapshots/snapshot-folder.ts';
import type { LogRange } from '../../cluster/snapshots/log/log-names.ts';
import type { S3Bucket } from '../../cluster/snapshots/s3/s3-bucket.ts';
import { snapshotName, type SnapshotFile } from '../../cluster/snapshots/snapshot-names.ts';
import type { Platform } from '../../platform/platform.ts';
import { readSettings } from '../arguments/settings-file.ts';
import { dataDirOption } from '../cluster-options.ts';
import { columns } from '../columns.ts';
import { UserError } from '../usage-error.ts';
import { withBucket } from './bucket.ts';
import { parseS3Options, withS3Options, type RawS3Options } from './s3-options.ts';
import { parseBaseName, parseRetention, snapshotConfigOption, snapshotDirOption } from './schedule-options.ts';

/** Options that select a folder. */
export interface RawFolder extends RawS3Options {
  readonly dataDir: string;
  readonly snapshotDir?: string;
}

/** The base name of on-demand snapshots, as k3s's. */
const ON_DEMAND = 'on-demand';

/** Base name of on-demand snapshots. */
export function baseNameOption(): Option {
  return new Option('--snapshot-name <name>', 'what their names begin with').default(ON_DEMAND);
}

export function lsCommand(): Command {
  return withFolder(new Command('ls').alias('list').description('list the snapshots of a cluster'))
    .addOption(new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text'))
    .action(async (raw: RawFolder & { readonly output: string }) => {
      const dir = snapshotDirOf(raw);
      const here = (await withFiles((files) => listSnapshots(files, dir))).map((file) => locatedIn(dir, file));
      const there = await withBucket(raw, async (bucket) =>
        (await bucket.list()).map((file) => ({ ...file, location: bucket.locationOf(file.name) })),
      );
      const locatedSnapshots = [...here, ...(there ?? [])];
      const logs = await findRanges(raw, dir);
      process.stdout.write(
        raw.output === 'json'
          ? snapshotsJson(locatedSnapshots, logs)
          : snapshotsTable(locatedSnapshots, dir) + logLines(logs),
      );
    });
}

export function pruneCommand(): Command {
  return withFolder(new Command('prune').description('remove the oldest snapshots of one name and this node'))
    .requiredOption('--snapshot-retention <n>', 'how many are kept')
    .addOption(baseNameOption())
    .action(async (raw: RawFolder & { readonly snapshotRetention: string; readonly snapshotName: string }) => {
      const retention = parseRetention(raw.snapshotRetention) ?? 0;
      if (retention === 0)
        throw new UserError('--snapshot-retention: at least 1; keelson snapshot delete removes all', 2);
      const base = parseBaseName(raw.snapshotName);
      const dir = snapshotDirOf(raw);
      const series = { base, nodeName: await withFiles((files) => nodeNameOf(files, raw.dataDir)) };
      const { createNodeClock } = await import('../../platform/node/clock.ts');
      const limit = { series, retention, nowMs: createNodeClock().nowMs() };
      const here = await withFiles((files) => pruneSnapshots(files, dir, limit));
      const there = await withBucket(raw, async (bucket) => {
        const names = await bucket.prune(series, parseS3Options(raw)?.retention ?? retention);
        return names.map((name) => bucket.locationOf(name));
      });
      const removed = [...here, ...(there ?? [])];
      process.stdout.write(removed.map((name) => `removed ${name}\n`).join('') || 'nothing to remove\n');
    });
}

export function deleteCommand(): Command {
  return withFolder(new Command('delete').alias('rm').description('remove snapshots by name'))
    .argument('<names...>', 'as keelson snapshot ls shows them')
    .action(async (names: readonly string[], raw: RawFolder) => {
      const dir = snapshotDirOf(raw);
      const here = (await withFiles((files) => listSnapshots(files, dir))).map(({ name }) => name);
      const there = (await withBucket(raw, (bucket) => bucket.list()))?.map(({ name }) => name) ?? [];
      const missing = names.find((name) => !here.includes(name) && !there.includes(name));
      if (missing !== undefined) throw new UserError(`there is no snapshot ${missing} in ${dir}; nothing was removed`);
      for (const name of names.filter((each) => here.includes(each))) {
        await withFiles((files) => files.remove(`${dir}/${name}`));
        process.stdout.write(`removed ${name}\n`);
      }
      await withBucket(raw, async (bucket) => {
        for (const name of names.filter((each) => there.includes(each))) {
          await bucket.remove(name);
          process.stdout.write(`removed ${bucket.locationOf(name)}\n`);
        }
      });
    });
}

/** Where a snapshot goes whose file the user does not name. Makes the folder ready. */
export async function onDemandFile(raw: RawFolder & { readonly snapshotName: string }): Promise<string> {
  const base = parseBaseName(raw.snapshotName);
  const dir = snapshotDirOf(raw);
  const { readySnapshotDir } = await import('../../cluster/snapshots/snapshot-folder.ts');
  const { createNodeClock } = await import('../../platform/node/clock.ts');
  return withFiles(async (files) => {
    if (!(await files.exists(raw.dataDir))) throw new UserError(`there is no cluster in ${raw.dataDir}`);
    await readySnapshotDir(files, dir, resolve(raw.dataDir));
    return `${dir}/${snapshotName({ base, nodeName: await nodeNameOf(files, raw.dataDir) }, createNodeClock().nowMs())}`;
  });
}

function withFolder(command: Command): Command {
  return withS3Options(
    command.addOption(dataDirOption()).addOption(snapshotDirOption()).addOption(snapshotConfigOption()),
  );
}

/** The folder that was named, else the one of the last start, else the data directory's. */
export function snapshotDirOf({ dataDir, snapshotDir }: RawFolder): string {
  const own = resolve(dataDir);
  return snapshotDir ?? readSettings(own)['snapshot-dir'] ?? defaultSnapshotDir(own);
}

/** The name of the cluster's node; where there is no cluster yet, the one this machine's would have. */
export async function nodeNameOf(files: Platform['files'], dataDir: string): Promise<string> {
  const instance = await readInstanceFile(files, resolve(dataDir));
  return instance?.nodeName ?? hostname().toLowerCase();
}

async function withFiles<T>(work: (files: Platform['files']) => Promise<T>): Promise<T> {
  const { createNodeFiles } = await import('../../platform/node/files.ts');
  return work(createNodeFiles());
}

/** A snapshot and where it is. */
interface LocatedSnapshot extends SnapshotFile {
  readonly location: string;
}

function locatedIn(dir: string, file: SnapshotFile): LocatedSnapshot {
  return { ...file, location: `file://${dir}/${file.name}` };
}

function snapshotsTable(locatedSnapshots: readonly LocatedSnapshot[], dir: string): string {
  if (locatedSnapshots.length === 0) return `no snapshots in ${dir}\n`;
  const rows = locatedSnapshots.map(({ name, location, sizeBytes, createdMs }) => [
    name,
    location,
    String(sizeBytes),
    formatTime(createdMs),
  ]);
  return columns([['NAME', 'LOCATION', 'SIZE', 'CREATED'], ...rows]);
}

interface RangeOfLog extends LogRange {
  readonly log: string;
}

/** What can be restored by the logs of the folder and the bucket. */
async function findRanges(raw: RawFolder, snapshotDir: string): Promise<readonly RangeOfLog[]> {
  const { findLogs } = await import('../../cluster/snapshots/log/build-moment.ts');
  const { logRanges } = await import('../../cluster/snapshots/log/log-names.ts');
  const find = (bucket?: S3Bucket) => withFiles((files) => findLogs({ files, snapshotDir, bucket }));
  const logs = (await withBucket(raw, find)) ?? (await find());
  return logs
    .flatMap((log) => logRanges(log).map((range) => ({ ...range, log: log.folder })))
    .toSorted((one, other) => one.fromMs - other.fromMs);
}

function logLines(ranges: readonly RangeOfLog[]): string {
  if (ranges.length === 0) return '';
  const rows = ranges.map(({ log, fromRevision, fromMs, toRevision, toMs }) => [
    log,
    dateOf(fromMs).toISOString(),
    dateOf(toMs).toISOString(),
    `${fromRevision}-${toRevision}`,
  ]);
  return `\n${columns([['LOG', 'ANY MOMENT FROM', 'TO', 'REVISIONS'], ...rows])}`;
}

function snapshotsJson(locatedSnapshots: readonly LocatedSnapshot[], logs: readonly RangeOfLog[]): string {
  const items = locatedSnapshots.map(({ name, location, sizeBytes, createdMs }) => ({
    name,
    location,
    sizeBytes,
    createdTime: formatTime(createdMs),
  }));
  const ranges = logs.map(({ log, fromRevision, fromMs, toRevision, toMs }) => {
    const times = { fromTime: dateOf(fromMs).toISOString(), toTime: dateOf(toMs).toISOString() };
    return { log, fromRevision, toRevision, ...times };
  });
  return `${JSON.stringify({ items, ranges }, undefined, 2)}\n`;
}
