/**
 * Makes snapshots by a schedule and keeps the newest. Upstream: k3s's `--etcd-snapshot-schedule-cron`, with the
 * schedules of the CronJob controller.
 *
 * Invariants: one snapshot at a time; every file in the folder is complete; a failure becomes an event and stays in
 * the status until a later snapshot succeeds, and the schedule continues. Times missed while the process did not run
 * are skipped; a time that passed while the machine was suspended is not.
 */
import { formatTime } from '../../api/time.ts';
import { onAbort } from '../../base/abort.ts';
import { errorMessage } from '../../base/errors.ts';
import type { EventRecorder, EventTarget } from '../../client/event-recorder.ts';
import { parseSchedule, type Schedule } from '../../component-helpers/cron-schedule.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import type { SnapshotStatus } from '../cluster-status.ts';
import { listSnapshots, pruneSnapshots, readySnapshotDir, removePartials } from './snapshot-folder.ts';
import { ofSeries, snapshotName, type SnapshotSeries } from './snapshot-names.ts';
import type { LogKeeper } from './log/log-keeper.ts';
import type { SnapshotOptions } from './snapshot-options.ts';

interface Deps {
  readonly platform: Pick<Platform, 'clock' | 'files' | 'log'>;
  readonly recorder: EventRecorder;
  /** Writes a complete snapshot to this path, or nothing. */
  save(path: string): Promise<void>;
  /** Where snapshots are copied to; read for each snapshot. Absent: nowhere. */
  readonly remote?: ((signal: AbortSignal) => Promise<RemoteSnapshots>) | undefined;
  /** The log of changes after the snapshots. Absent: no log is kept. */
  readonly log?: Pick<LogKeeper, 'run' | 'snapshotSaved' | 'snapshotsUploaded' | 'status'> | undefined;
}

/** Snapshots in a bucket. */
export interface RemoteSnapshots {
  upload(path: string, name: string): Promise<void>;
  prune(series: SnapshotSeries, retention: number): Promise<readonly string[]>;
  locationOf(name: string): string;
}

interface Config {
  readonly options: SnapshotOptions;
  readonly dir: string;
  readonly dataDir: string;
  readonly nodeName: string;
}

export class SnapshotSchedule {
  readonly #deps: Deps;
  readonly #config: Config;
  readonly #series: SnapshotSeries;
  readonly #schedule: Schedule;
  #nextMs: number | undefined;
  #failure: SnapshotStatus['failure'];
  #taking: Promise<void> = Promise.resolve();

  constructor(deps: Deps, config: Config) {
    this.#deps = deps;
    this.#config = config;
    this.#series = { base: config.options.name, nodeName: config.nodeName };
    this.#schedule = parseSchedule(config.options.schedule, config.options.timeZone);
  }

  /** Resolves after the signal's abort. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#runSchedule(signal), this.#deps.log?.run(signal, () => this.#take(signal))]);
  }

  async #runSchedule(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps.platform;
    let sinceMs = clock.nowMs();
    while (!signal.aborted) {
      this.#nextMs = this.#schedule.nextMs(sinceMs);
      if (this.#nextMs === undefined) throw new Error(`the schedule ${this.#config.options.schedule} has no times`);
      const isDue = await this.#due(this.#nextMs, signal);
      sinceMs = clock.nowMs();
      if (isDue && !signal.aborted) await this.#take(signal);
    }
  }

  async status(): Promise<SnapshotStatus> {
    const { options, dir } = this.#config;
    const { files, clock } = this.#deps.platform;
    const log = await this.#deps.log?.status().catch(() => undefined); // an unreadable folder is reported below
    const status = { schedule: options.schedule, dir, failure: this.#failure, log };
    const nextTime = this.#nextMs === undefined ? undefined : formatTime(this.#nextMs);
    try {
      const last = ofSeries(await listSnapshots(files, dir), this.#series, clock.nowMs())[0];
      if (last === undefined) return { ...status, nextTime };
      const { name, sizeBytes, createdMs } = last;
      return { ...status, nextTime, last: { name, sizeBytes, time: formatTime(createdMs) } };
    } catch (error) {
      const failure = { time: formatTime(clock.nowMs()), message: errorMessage(error) };
      return { ...status, nextTime, failure: this.#failure ?? failure };
    }
  }

  /** Waits until the wall clock reaches the time. False when the clock was set back, so that the next time changes. */
  async #due(dueMs: number, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#deps.platform;
    let isSetBack = false;
    while (!signal.aborted && !isSetBack && clock.nowMs() < dueMs) {
      const waiting = new AbortController();
      const unhook = onAbort(signal, () => waiting.abort());
      const stop = clock.onWallJump((jumpMs) => {
        isSetBack = jumpMs < 0;
        waiting.abort();
      });
      await sleepUnlessAborted(clock, dueMs - clock.nowMs(), waiting.signal);
      stop();
      unhook();
    }
    return !isSetBack;
  }

  /** Takes a snapshot; calls are run one after the other. */
  #take(signal: AbortSignal): Promise<void> {
    return (this.#taking = this.#taking.then(() => this.#takeOne(signal)));
  }

  async #takeOne(signal: AbortSignal): Promise<void> {
    const { platform, recorder, save } = this.#deps;
    const { clock, files, log } = platform;
    const { dir, dataDir, options } = this.#config;
    const name = snapshotName(this.#series, clock.nowMs());
    try {
      await readySnapshotDir(files, dir, dataDir);
      await removePartials(files, dir, this.#series);
      await save(`${dir}/${name}`);
      await this.#deps.log?.snapshotSaved(name, `${dir}/${name}`);
      log.info('a snapshot was saved', { file: `${dir}/${name}` });
      const limit = { series: this.#series, retention: options.retention, nowMs: clock.nowMs() };
      const pruned = await pruneSnapshots(files, dir, limit);
      if (pruned.length > 0) log.info('older snapshots were removed', { names: pruned });
      const location = await this.#upload(`${dir}/${name}`, name, signal);
      this.#failure = undefined;
      const places = location === undefined ? dir : `${dir} and ${location}`;
      recorder.event(this.#node(), 'Normal', 'SnapshotCreated', `Snapshot ${name} was saved in ${places}`);
    } catch (error) {
      const message = errorMessage(error);
      if (signal.aborted) return log.warn('the server stopped before the snapshot was done', { name, reason: message });
      this.#failure = { time: formatTime(clock.nowMs()), message };
      log.error('the scheduled snapshot failed', { err: error, name });
      recorder.event(this.#node(), 'Warning', 'SnapshotFailed', `Snapshot ${name} failed: ${message}`);
    }
  }

  /** Resolves to the snapshot's location in the bucket. */
  async #upload(path: string, name: string, signal: AbortSignal): Promise<string | undefined> {
    const { options } = this.#config;
    const remote = await this.#deps.remote?.(signal);
    if (remote === undefined) return undefined;
    await remote.upload(path, name);
    const pruned = await remote.prune(this.#series, options.s3?.retention ?? options.retention);
    this.#deps.log?.snapshotsUploaded();
    this.#deps.platform.log.info('a snapshot was uploaded', { location: remote.locationOf(name), removed: pruned });
    return remote.locationOf(name);
  }

  /** The machine's node as the kubelet references it in events. */
  #node(): EventTarget {
    const { nodeName } = this.#config;
    return { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeName };
  }
}
