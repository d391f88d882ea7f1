/** `--snapshot-*` of `keelson up` and `keelson server`: snapshots by a schedule, as k3s's `--etcd-snapshot-*`. */
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { parseDurationMs } from '../../api/duration.ts';
import { quantityValue, tryParseQuantity } from '../../api/quantity.ts';
import { errorMessage } from '../../base/errors.ts';
import { baseNameProblem } from '../../cluster/snapshots/snapshot-names.ts';
import type { SnapshotLogOptions, SnapshotOptions } from '../../cluster/snapshots/snapshot-options.ts';
import type { StoreChoice } from '../../cluster/store/store-options.ts';
import { UserError } from '../usage-error.ts';
import { parseS3Options, withS3Options, type RawS3Options } from './s3-options.ts';

const DEFAULT_RETENTION = 5;
const MAX_RETENTION = 100_000;
const MIN_LOG_BYTES = 4 * 1024 * 1024;
const MIN_LOG_INTERVAL_MS = 100;
const MAX_LOG_INTERVAL_MS = 3_600_000;

/** Options before they are checked. */
export interface RawSnapshotOptions extends RawS3Options {
  readonly snapshotScheduleCron?: string;
  readonly snapshotRetention?: string;
  readonly snapshotDir?: string;
  readonly snapshotName?: string;
  readonly snapshotLog?: boolean;
  readonly snapshotLogSize?: string;
  readonly snapshotLogInterval?: string;
}

/** Adds the options. */
export function withSnapshotOptions(command: Command): Command {
  const scheduled = command
    .option(
      '--snapshot-schedule-cron <schedule>',
      "when snapshots of the state are made, e.g. '0 */12 * * *' in this machine's time (default: none are)",
    )
    .option('--snapshot-retention <n>', `how many of them are kept; 0: all (default: ${DEFAULT_RETENTION})`)
    .addOption(snapshotDirOption())
    .option('--snapshot-name <name>', 'what their names begin with (default: snapshot)')
    .option('--snapshot-log', 'keep a log of all changes after them: any moment can be restored')
    .option('--snapshot-log-size <size>', 'size of the log beyond which its oldest part goes (default: 1Gi)')
    .option('--snapshot-log-interval <duration>', 'how often the log is written (default: 10s)');
  return withS3Options(scheduled);
}

/** `--config` of the snapshot commands. */
export function snapshotConfigOption(): Option {
  return new Option('--config <file>', 'take these flags from the file that the server is started with');
}

/** `--snapshot-dir`. */
export function snapshotDirOption(): Option {
  return new Option('--snapshot-dir <dir>', 'folder of snapshots (default: snapshots in the data directory)').argParser(
    (text: string) => {
      if (text === '') throw new UserError('--snapshot-dir: the name of a directory is missing', 2);
      return resolve(text); // It is remembered for commands that are called elsewhere.
    },
  );
}

/** The server's schedule of snapshots; undefined without one. Rejects with `UserError` of exit code 2. */
export async function parseSnapshotOptions(
  raw: RawSnapshotOptions,
  { kind }: Pick<StoreChoice, 'kind'>,
): Promise<{ readonly snapshots?: SnapshotOptions }> {
  const { snapshotScheduleCron: schedule, snapshotRetention, snapshotName, snapshotLog } = raw;
  const s3 = parseS3Options(raw);
  if (schedule === undefined) {
    for (const [flag, value] of [
      ['--snapshot-retention', snapshotRetention],
      ['--snapshot-name', snapshotName],
      ['--snapshot-log', snapshotLog],
      ['--s3', s3],
    ] as const)
      if (value !== undefined) throw new UserError(`${flag}: only with --snapshot-schedule-cron`, 2);
    parseLog(raw, kind);
    return {};
  }
  const log = parseLog(raw, kind);
  if (kind === 'memory') throw new UserError('--snapshot-schedule-cron: a store in memory has nothing to save', 2);
  const snapshots = {
    schedule,
    timeZone: await checkSchedule(schedule),
    retention: parseRetention(snapshotRetention) ?? DEFAULT_RETENTION,
    dir: raw.snapshotDir,
    name: parseBaseName(snapshotName ?? 'snapshot'),
    log,
    s3,
  };
  return { snapshots };
}

/** Undefined without `--snapshot-log`. Throws `UserError` with exit code 2. */
function parseLog(
  { snapshotLog, snapshotLogSize, snapshotLogInterval }: RawSnapshotOptions,
  kind: StoreChoice['kind'],
): SnapshotLogOptions | undefined {
  if (snapshotLog !== true) {
    if (snapshotLogSize !== undefined) throw new UserError('--snapshot-log-size: only with --snapshot-log', 2);
    if (snapshotLogInterval !== undefined) throw new UserError('--snapshot-log-interval: only with --snapshot-log', 2);
    return undefined;
  }
  if (kind === 'etcd') throw new UserError('--snapshot-log: only with SQLite; etcd keeps no log of its changes', 2);
  const size = snapshotLogSize ?? '1Gi';
  const maxBytes = tryParseQuantity(size) === undefined ? Number.NaN : quantityValue(size);
  if (!(maxBytes >= MIN_LOG_BYTES)) throw new UserError(`--snapshot-log-size: ${size} is not a size of 4Mi or more`, 2);
  const interval = snapshotLogInterval ?? '10s';
  const intervalMs = parseDurationMs(interval) ?? Number.NaN;
  if (!(intervalMs >= MIN_LOG_INTERVAL_MS && intervalMs <= MAX_LOG_INTERVAL_MS))
    throw new UserError(`--snapshot-log-interval: ${interval} is not a duration between 100ms and 1h`, 2);
  return { maxBytes, intervalMs };
}

/** A number of snapshots. Throws `UserError` with exit code 2. */
export function parseRetention(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text) || Number(text) > MAX_RETENTION)
    throw new UserError(`--snapshot-retention: ${text} is not a number between 0 and ${MAX_RETENTION}`, 2);
  return Number(text);
}

/** Throws `UserError` with exit code 2. */
export function parseBaseName(text: string): string {
  const problem = baseNameProblem(text);
  if (problem !== undefined) throw new UserError(`--snapshot-name: ${problem}`, 2);
  return text;
}

/** Resolves to the time zone of this machine, in which the schedule is read. */
async function checkSchedule(schedule: string): Promise<string> {
  const { parseSchedule } = await import('../../component-helpers/cron-schedule.ts');
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  try {
    if (parseSchedule(schedule, timeZone).nextMs(0) === undefined) throw new Error('it has no next time');
    return timeZone;
  } catch (error) {
    throw new UserError(`--snapshot-schedule-cron: ${JSON.stringify(schedule)}: ${errorMessage(error)}`, 2);
  }
}
