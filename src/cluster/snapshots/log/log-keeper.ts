/**
 * Keeps the log of a server's changes beside its snapshots, so that any moment since the oldest snapshot can be
 * restored.
 *
 * Invariants: writers never wait for the log, and the log never waits for the bucket; the store compacts no change
 * before it is in the log, unless the log has failed for long; a failure becomes an event and stays in the status
 * until the log works again. Without a snapshot to start from, one is made.
 */
import { dateOf, formatTime } from '../../../api/time.ts';
import { errorMessage } from '../../../base/errors.ts';
import { sleepUnlessAborted } from '../../../platform/clock.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { StoreChangeLog } from '../../../storage/change-log.ts';
import type { LogPosition } from '../../../storage/sqlite/change-log/log-rows.ts';
import type { SnapshotLogStatus } from '../../cluster-status.ts';
import { listSnapshots, readySnapshotDir } from '../snapshot-folder.ts';
import type { SnapshotSeries } from '../snapshot-names.ts';
import { listLogFiles, listLogs } from './log-folder.ts';
import {
  baseName,
  excessSegments,
  isLogOf,
  LOG_FOLDER,
  logFolderName,
  logRanges,
  readLogContent,
} from './log-names.ts';
import { type LogBucket, LogRemote } from './log-remote.ts';
import { LogWriter } from './log-writer.ts';

/** The most changes the store keeps uncompacted while the log cannot be written. */
const MAX_HELD_CHANGES = 100_000;
/** The pause after a snapshot that the log needed and that may have failed. */
const SNAPSHOT_RETRY_MS = 60_000;

/** Where a log is kept. */
type LogPlace = 'folder' | 'bucket';

interface Deps {
  readonly platform: Pick<Platform, 'clock' | 'files' | 'log' | 'random'>;
  readonly changeLog: StoreChangeLog;
  /** A snapshot's position in the log of its store. */
  positionOf(path: string): LogPosition | undefined;
  /** Reports a failure. */
  onFailure(message: string): void;
  readonly remote: ((signal: AbortSignal) => Promise<LogBucket>) | undefined;
}

interface Config {
  readonly dir: string;
  readonly dataDir: string;
  readonly series: SnapshotSeries;
  readonly maxBytes: number;
  readonly intervalMs: number;
}

interface OpenLog {
  readonly writer: LogWriter;
  readonly dir: string;
  readonly identity: string;
  readonly remote: LogRemote;
}

export class LogKeeper {
  readonly #deps: Deps;
  readonly #config: Config;
  #open: OpenLog | undefined;
  readonly #failures = new Map<LogPlace, SnapshotLogStatus['failure']>();
  /** When the log last asked for a snapshot to start from. */
  #lastTakenMs = -Infinity;
  /** The first revision whose compaction was requested before the log was open. */
  #heldFrom: number | undefined;

  constructor(deps: Deps, config: Config) {
    this.#deps = deps;
    this.#config = config;
  }

  /** Resolves after the signal's abort. `takeSnapshot` is called when the log has no snapshot to start from. */
  async run(signal: AbortSignal, takeSnapshot: () => Promise<void>): Promise<void> {
    const { changeLog, remote } = this.#deps;
    changeLog.limitCompaction((revision) => this.#compactionLimit(revision));
    await Promise.all([
      this.#repeat('folder', () => this.#write(takeSnapshot), signal),
      remote && this.#repeat('bucket', async () => this.#open?.remote.sync(await remote(signal)), signal),
    ]);
    await this.#attempt('folder', () => this.#open?.writer.write());
  }

  /** Records a saved snapshot in the log, so that a restore can start from it. */
  async snapshotSaved(name: string, path: string): Promise<void> {
    const position = this.#deps.positionOf(path);
    if (this.#open === undefined || position?.identity !== this.#open.identity) return;
    const { revision, timeMs } = position;
    const file = `${this.#open.dir}/${baseName({ revision, timeMs, snapshot: name })}`;
    await this.#deps.platform.files.writeFileAtomic(file, '', { mode: 0o600 });
  }

  /** Notes that the bucket's snapshots have changed. */
  snapshotsUploaded(): void {
    this.#open?.remote.forget();
  }

  async status(): Promise<SnapshotLogStatus> {
    const ranges = this.#open === undefined ? [] : logRanges(await this.#content(this.#open.dir));
    const range = ranges.at(-1);
    const failure = this.#failures.get('folder') ?? this.#failures.get('bucket');
    if (range === undefined) return { failure };
    const { fromRevision, fromMs, toRevision, toMs } = range;
    const times = { fromTime: dateOf(fromMs).toISOString(), toTime: dateOf(toMs).toISOString() };
    return { failure, range: { fromRevision, toRevision, ...times } };
  }

  async #repeat(part: LogPlace, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps.platform;
    const whole = async (): Promise<void> => {
      await work();
      this.#failures.delete(part);
    };
    while (!signal.aborted) {
      await this.#attempt(part, whole, signal);
      await sleepUnlessAborted(clock, this.#config.intervalMs, signal);
    }
  }

  async #write(takeSnapshot: () => Promise<void>): Promise<void> {
    const { dir, writer } = (this.#open ??= await this.#begin());
    await writer.write();
    if (await this.#prune(dir, writer)) return;
    await this.#takeSnapshot(takeSnapshot);
    await this.#prune(dir, writer);
  }

  async #takeSnapshot(take: () => Promise<void>): Promise<void> {
    const { clock } = this.#deps.platform;
    if (clock.nowMs() - this.#lastTakenMs < SNAPSHOT_RETRY_MS) return;
    this.#lastTakenMs = clock.nowMs();
    await take();
  }

  async #attempt(part: LogPlace, work: () => Promise<void> | undefined, signal?: AbortSignal): Promise<void> {
    try {
      await work();
    } catch (error) {
      const message = errorMessage(error);
      const { clock, log } = this.#deps.platform;
      if (signal?.aborted === true)
        return log.warn('the server stopped before its change log was written', { reason: message });
      if (!this.#failures.has(part)) {
        log.error('the change log cannot be kept', { err: error });
        this.#deps.onFailure(message);
      }
      this.#failures.set(part, { time: formatTime(clock.nowMs()), message });
    }
  }

  async #begin(): Promise<OpenLog> {
    const { platform, changeLog } = this.#deps;
    const { files, clock, random } = platform;
    const { dir: snapshotDir, dataDir, series, maxBytes } = this.#config;
    await readySnapshotDir(files, snapshotDir, dataDir);
    const start = await changeLog.begin(Buffer.from(random.bytes(8)).toString('hex'));
    const folder = logFolderName(series, start.identity);
    const dir = `${snapshotDir}/${LOG_FOLDER}/${folder}`;
    const writer = new LogWriter({ files, clock, changeLog }, dir, start.identity);
    await writer.open(start);
    const remote = new LogRemote({ files, logDir: dir, folder, series, maxBytes });
    return { writer, dir, identity: start.identity, remote };
  }

  async #compactionLimit(revision: number): Promise<number> {
    const { writer } = this.#open ?? {};
    // The log is not open, so its end is not known.
    if (writer === undefined) return revision - (this.#heldFrom ??= revision) > MAX_HELD_CHANGES ? revision : 0;
    if (writer.end >= revision) return revision;
    await this.#attempt('folder', () => writer.write());
    return revision - writer.end > MAX_HELD_CHANGES ? revision : Math.min(revision, writer.end);
  }

  /**
   * Removes files that no snapshot needs, files beyond the size limit, and logs of the series without a snapshot.
   * Returns false when removing files beyond the limit would leave no snapshot that leads to the last change. Those
   * files then stay, up to twice the limit.
   */
  async #prune(dir: string, writer: LogWriter): Promise<boolean> {
    const { end } = writer;
    const { maxBytes } = this.#config;
    const content = await this.#content(dir);
    let excess = excessSegments(content.segments, maxBytes);
    const remaining = content.segments.filter(({ name }) => !excess.includes(name));
    const isReached = (logRanges({ ...content, segments: remaining }).at(-1)?.toRevision ?? -1) >= end;
    if (!isReached) excess = excessSegments(content.segments, maxBytes * 2);
    await writer.remove([...content.useless, ...excess]);
    await this.#removeFormerLogs(dir);
    return isReached;
  }

  async #removeFormerLogs(dir: string): Promise<void> {
    const { files } = this.#deps.platform;
    const { dir: snapshotDir, series } = this.#config;
    for (const folder of await listLogs(files, snapshotDir)) {
      const other = `${snapshotDir}/${LOG_FOLDER}/${folder}`;
      if (other === dir || !isLogOf(series, folder)) continue;
      if ((await this.#content(other)).bases.length === 0) await files.remove(other);
    }
  }

  async #content(dir: string): Promise<ReturnType<typeof readLogContent>> {
    const { files } = this.#deps.platform;
    const snapshots = await listSnapshots(files, this.#config.dir);
    return readLogContent(await listLogFiles(files, dir), new Set(snapshots.map(({ name }) => name)));
  }
}
