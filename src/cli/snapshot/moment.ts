/** `--at` of `keelson snapshot restore` and `verify`: the state at any moment, of a snapshot and the log of changes after it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { parseTime } from '../../api/time.ts';
import { errorMessage } from '../../base/errors.ts';
import type { BuiltMoment, LogLocations } from '../../cluster/snapshots/log/build-moment.ts';
import type { RestoreReport } from '../../cluster/store/snapshots.ts';
import type { LogEnd } from '../../storage/sqlite/change-log/log-files.ts';
import { momentParam } from '../history/get-history.ts';
import { withPlatform } from '../run-once.ts';
import { UserError } from '../usage-error.ts';
import { withBucket } from './bucket.ts';
import { nodeNameOf, type RawFolder, snapshotDirOf } from './folder-commands.ts';
import { parseBaseName, snapshotDirOption } from './schedule-options.ts';

/** Options that select a moment in a log. */
export interface RawMoment extends RawFolder {
  readonly at?: string;
  readonly snapshotName: string;
}

/** Adds the options. */
export function withMoment(command: Command): Command {
  return command
    .option(
      '--at <moment>',
      'a revision, a time, an age such as -10m, or latest: from the log of changes, instead of a file',
    )
    .addOption(snapshotDirOption())
    .addOption(
      new Option('--snapshot-name <name>', 'what the names of the snapshots of the log begin with').default('snapshot'),
    );
}

/** The file that was named, or undefined with `--at`. Throws `UserError` unless there is one of them. */
export function fileUnlessAt(file: string | undefined, { at }: RawMoment): string | undefined {
  if (file === undefined && at === undefined) throw new UserError('a snapshot or --at is needed', 2);
  if (file !== undefined && at !== undefined) throw new UserError(`give a snapshot or --at, not both: ${file}`, 2);
  return file;
}

/** Puts the state of the moment in the place of a stopped cluster's store. Rejects with `PreflightError`. */
export async function restoreMoment(raw: RawMoment): Promise<RestoreReport & BuiltMoment> {
  const dataDir = resolve(raw.dataDir);
  const { buildMoment } = await import('../../cluster/snapshots/log/build-moment.ts');
  const { completeLog } = await import('../../cluster/snapshots/log/complete-log.ts');
  const { replaceStore, storeFile } = await import('../../cluster/store/snapshots.ts');
  return withLocations(raw, async (locations, end, platform) => {
    let built: BuiltMoment | undefined;
    const report = await replaceStore(dataDir, async (incoming) => {
      const store = { ...locations, storeFile: storeFile(dataDir) };
      const last = await completeLog(platform, store).catch((error: unknown) => {
        process.stderr.write(`keelson: ${errorMessage(error)}; what its log does not have yet is left out\n`);
        return undefined;
      });
      built = await buildMoment(locations, { end, last }, incoming);
    });
    return { ...report, ...built! };
  });
}

/** Does the work with the state of the moment in a file of its own. */
export async function withMomentFile(raw: RawMoment, work: (file: string) => Promise<void>): Promise<void> {
  const { buildMoment } = await import('../../cluster/snapshots/log/build-moment.ts');
  const { withUserErrors } = await import('../../cluster/store/snapshots.ts');
  await withLocations(raw, async (locations, end) => {
    const folder = await mkdtemp(join(tmpdir(), 'keelson-moment-'));
    try {
      const file = join(folder, 'state.db');
      await withUserErrors(() => buildMoment(locations, { end }, file));
      await work(file);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

type PlatformOfCommands = Parameters<Parameters<typeof withPlatform>[0]>[0];

async function withLocations<T>(
  raw: RawMoment,
  work: (locations: LogLocations, end: LogEnd | 'latest', platform: PlatformOfCommands) => Promise<T>,
): Promise<T> {
  const base = parseBaseName(raw.snapshotName);
  return withPlatform(async (platform) => {
    const { files, clock } = platform;
    const end = parseMoment(raw.at ?? 'latest', clock.nowMs());
    const series = { base, nodeName: await nodeNameOf(files, raw.dataDir) };
    const locations = { files, snapshotDir: snapshotDirOf(raw), series };
    const done = await withBucket(
      raw,
      async (bucket) => [await work({ ...locations, bucket }, end, platform)] as const,
    );
    return done === undefined ? work({ ...locations, bucket: undefined }, end, platform) : done[0];
  });
}

function parseMoment(text: string, nowMs: number): LogEnd | 'latest' {
  if (text === 'latest') return text;
  const moment = momentParam(text, nowMs);
  if (/^\d+$/.test(moment)) return { revision: Number(moment) };
  const timeMs = parseTime(moment);
  if (timeMs > nowMs) throw new UserError(`--at: ${text} is yet to come`, 2);
  return { timeMs };
}
