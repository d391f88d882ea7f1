/**
 * Records every change that the watch caches see, with its author, and passes them to the history log in batches:
 * every two seconds, or when there are many.
 *
 * Invariants: no write waits for it. The buffer is bounded; changes without room are counted and recorded as a gap.
 * Leases of nodes and API servers are not recorded: they change every ten seconds without information.
 */
import { errorMessage } from '../../base/errors.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { Counter, Metrics } from '../../platform/metrics.ts';
import { background } from '../../platform/unexpected.ts';
import { HISTORY_LANES, type HistoryLog, type HistoryStatus } from '../../storage/history-log.ts';
import type { HistoryAuthor } from '../../storage/history-record.ts';
import type { Store, StoreEvent } from '../../storage/store.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import type { ChangeRecorder } from '../watch-cache/watch-cache.ts';
import { catchUp } from './catch-up.ts';
import { PendingChanges } from './pending-changes.ts';
import { PastScans } from './past-scans.ts';

const FLUSH_MS = 2000;
/** The first batch waits, so that it does not slow down the start. */
const FIRST_FLUSH_MS = 5000;
const RETRY_MS = 30_000;
/** With several servers on a store, the response to a write may arrive after its event. */
const SHARED_STORE_DELAY_MS = 100;
const PRUNE_MS = 60 * 60_000;

export interface HistoryRecorderDeps {
  readonly log: HistoryLog;
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Log;
  readonly metrics: Metrics;
}

/** Records the changes of one server. */
export class HistoryRecorder implements ChangeRecorder {
  readonly log: HistoryLog;
  readonly scans: PastScans;
  readonly #deps: HistoryRecorderDeps;
  readonly #recorded: Counter;
  readonly #dropped: Counter;
  readonly #pending: PendingChanges;
  /** The revision at which the caches were filled. */
  #startRevision = 0;
  #startMs = 0;
  #timer: CancelTimer | undefined;
  /** Whether the timer is due in this turn. */
  #isUrgent = false;
  /** When the last commit was seen, by the monotonic and by the wall clock. */
  #commit = { atMs: Number.NaN, nowMs: 0 };
  #cancelPruning: CancelTimer | undefined;
  #flushing: Promise<void> | undefined;
  #started = false;
  #isOpen = false;
  #status: HistoryStatus | undefined;
  #failure = '';

  constructor(deps: HistoryRecorderDeps) {
    this.#deps = deps;
    this.log = deps.log;
    this.scans = new PastScans(deps.clock);
    const { log, store, metrics } = deps;
    this.#pending = new PendingChanges({
      newRecords: (lane) => log.newRecords(lane),
      seal: (key, value) => (store.cipher === undefined || value.length === 0 ? value : store.cipher.seal(key, value)),
      onDropped: (changes) => this.#dropped.inc({}, changes),
    });
    this.#recorded = metrics.counter({
      name: 'keelson_history_changes_total',
      help: 'Changes of objects handed to the history.',
    });
    this.#dropped = metrics.counter({
      name: 'keelson_history_dropped_changes_total',
      help: 'Changes that are missing in the history: there were too many at once, or they could not be written.',
    });
    const size = metrics.gauge({
      name: 'keelson_history_size_bytes',
      help: 'Bytes of history that are kept, by lane.',
      labels: ['lane'],
    });
    metrics.beforeExpose(() => {
      for (const lane of HISTORY_LANES) size.set(this.#status?.lanes[lane].sizeBytes ?? 0, { lane });
    });
  }

  /** The number of changes dropped since the start. */
  get droppedChanges(): number {
    return this.#pending.dropped;
  }

  /** The error of the last batch; '' if it was written. */
  get failure(): string {
    return this.#failure;
  }

  /** The caches are filled at this revision. Does not open the log yet. */
  start(revision: number): void {
    this.#started = true;
    this.#startRevision = revision;
    this.#startMs = this.#deps.clock.nowMs();
    this.#pending.startAt(revision);
    this.#flushIn(FIRST_FLUSH_MS);
    this.#cancelPruning ??= this.#deps.clock.setTicker(PRUNE_MS, () => this.#prune());
  }

  take(event: StoreEvent, previous: RevisionCell | undefined, atMs: number): void {
    if (atMs !== this.#commit.atMs) this.#commit = { atMs, nowMs: this.#deps.clock.nowMs() };
    if (!this.#pending.take(event, previous, this.#commit.nowMs)) return;
    if (!this.#pending.isMany) this.#flushIn(FLUSH_MS);
    else if (!this.#isUrgent) this.#flushIn(0);
  }

  takeGap(after: number, until: number): void {
    this.#pending.takeGap(after, until);
  }

  /** Records the author of a change, before or after the caches have seen it. */
  noteAuthor(key: string, revision: number, author: HistoryAuthor): void {
    this.#pending.noteAuthor(key, revision, author);
  }

  #flushIn(delayMs: number): void {
    if (!this.#started || (delayMs > 0 && this.#timer !== undefined)) return;
    this.#timer?.();
    this.#isUrgent = delayMs === 0;
    this.#timer = this.#deps.clock.setTimer(delayMs, () => {
      this.#timer = undefined;
      this.#isUrgent = false;
      const heldBackMs = this.#deps.store.latestRevision === undefined ? 0 : SHARED_STORE_DELAY_MS;
      background(this.#deps.logger, 'the history could not be written', this.flush(heldBackMs));
    });
  }

  /** Writes the buffered changes except those of the last milliseconds. Never rejects for a failure of the log. */
  async flush(heldBackMs = 0, isLast = false): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing;
    this.#flushing = this.#flushOnce(heldBackMs, isLast);
    try {
      await this.#flushing;
    } finally {
      this.#flushing = undefined;
      if (this.#pending.count > 0 && this.#timer === undefined)
        this.#flushIn(this.#failure === '' ? FLUSH_MS : RETRY_MS);
    }
  }

  async #flushOnce(heldBackMs: number, isLast: boolean): Promise<void> {
    if (!this.#isOpen && !(await this.#open())) return;
    const untilMs = heldBackMs === 0 ? Infinity : this.#deps.clock.nowMs() - heldBackMs;
    const batch = this.#pending.cut(untilMs);
    if (batch === undefined && !isLast) return;
    const { records, count, gaps, covered } = batch ?? { records: {}, count: 0, gaps: [], covered: this.#pending.seen };
    try {
      this.#setStatus(await this.log.append({ records, gaps, covered }));
      this.#recorded.inc({}, count);
      this.#failure = '';
    } catch (error) {
      this.#fail(error);
      if (batch !== undefined) this.#pending.lose(batch);
    } finally {
      if (batch !== undefined) this.#pending.release(batch);
    }
  }

  /** Opens the log and adds from the store the changes that a crash kept from it. */
  async #open(): Promise<boolean> {
    try {
      const start = this.#startRevision;
      const { covered } = this.#setStatus(await this.log.open(start, this.#startMs));
      this.#isOpen = true;
      if (covered >= start) return true;
      const missed = await catchUp(this.#deps, covered, start);
      if (missed === undefined) this.takeGap(covered, start);
      else this.#pending.prepend(missed);
      return true;
    } catch (error) {
      this.#fail(error);
      return false;
    }
  }

  #fail(error: unknown): void {
    const message = errorMessage(error);
    if (message !== this.#failure)
      this.#deps.logger.error('the history of objects could not be written', { err: error });
    this.#failure = message;
  }

  #setStatus(status: HistoryStatus): HistoryStatus {
    this.#status = status;
    this.#pending.raiseBaselines(status, this.#isOpen);
    return status;
  }

  #prune(): void {
    const { objects, events } = this.#status?.lanes ?? {};
    if (!this.#isOpen || (objects?.records ?? 0) + (events?.records ?? 0) === 0) return;
    const pruning = this.log.prune().then(
      (status) => {
        this.#setStatus(status);
      },
      (error: unknown) => this.#fail(error),
    );
    background(this.#deps.logger, 'the history could not be pruned', pruning);
  }

  /** Writes the remaining changes. The owner closes the log. */
  async stop(): Promise<void> {
    this.#timer?.();
    this.#timer = undefined;
    this.#isUrgent = false;
    this.#cancelPruning?.();
    this.#cancelPruning = undefined;
    this.scans.forget();
    const wasStarted = this.#started;
    this.#started = false;
    if (wasStarted) await this.flush(0, true);
  }
}
