/**
 * Takes down every change that the watch caches see, with who made it, and hands them to the history log in batches: once
 * a second, or when there are many.
 *
 * Invariants: no write waits for it. What is held is bounded; what does not fit is counted and recorded as a gap. Leases of
 * nodes are not recorded: they say nothing, every ten seconds.
 */
import { errorMessage } from '../../base/errors.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { Counter, Metrics } from '../../platform/metrics.ts';
import { background } from '../../platform/unexpected.ts';
import type {
  HistoryAuthor,
  HistoryGap,
  HistoryLane,
  HistoryLog,
  HistoryRecord,
  HistoryStatus,
} from '../../storage/history-log.ts';
import type { Store, StoreEvent } from '../../storage/store.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import type { ChangeRecorder } from '../watch-cache/watch-cache.ts';
import { catchUp, type HeldChange } from './catch-up.ts';
import { laneOf } from './lanes.ts';

const FLUSH_MS = 1000;
/** A start is not slower for it: the first batch waits. */
const FIRST_FLUSH_MS = 5000;
const RETRY_MS = 30_000;
const FLUSH_CHANGES = 1000;
const FLUSH_BYTES = 4 * 1024 * 1024;
const MAX_HELD_BYTES = 16 * 1024 * 1024;
const MAX_AUTHORS = 20_000;
/** On a store of several servers the answer to a write may come after its event. */
const SHARED_STORE_DELAY_MS = 100;
const PRUNE_MS = 60 * 60_000;

/** What the recorder works with. */
export interface HistoryRecorderDeps {
  readonly log: HistoryLog;
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Log;
  readonly metrics: Metrics;
}

const LANES: readonly HistoryLane[] = ['objects', 'events'];
const NO_VALUE = new Uint8Array();

/** Records the changes of one server. */
export class HistoryRecorder implements ChangeRecorder {
  readonly log: HistoryLog;
  readonly #deps: HistoryRecorderDeps;
  readonly #recorded: Counter;
  readonly #dropped: Counter;
  readonly #baselines: Record<HistoryLane, number> = { objects: 0, events: 0 };
  #pending: HeldChange[] = [];
  #gaps: HistoryGap[] = [];
  #authors = new Map<number, HistoryAuthor>();
  #heldBytes = 0;
  /** What came before was in the store when the caches were filled. */
  #startRevision = 0;
  #seen = 0;
  #droppedCount = 0;
  #timer: CancelTimer | undefined;
  #cancelPruning: CancelTimer | undefined;
  #flushing: Promise<void> | undefined;
  #started = false;
  #isOpen = false;
  #status: HistoryStatus | undefined;
  #failure = '';

  constructor(deps: HistoryRecorderDeps) {
    this.#deps = deps;
    this.log = deps.log;
    const { metrics } = deps;
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
      for (const lane of LANES) size.set(this.#status?.lanes[lane].sizeBytes ?? 0, { lane });
    });
  }

  /** Changes that were dropped since the start. */
  get droppedChanges(): number {
    return this.#droppedCount;
  }

  /** Why the last batch was not written; '' when it was. */
  get failure(): string {
    return this.#failure;
  }

  /** The caches are full as of this revision. Opens nothing yet. */
  start(revision: number): void {
    this.#started = true;
    this.#startRevision = revision;
    this.#seen = Math.max(this.#seen, revision);
    for (const lane of LANES) this.#baselines[lane] = Math.max(this.#baselines[lane], revision);
    this.#flushIn(FIRST_FLUSH_MS);
    this.#cancelPruning ??= this.#deps.clock.setTicker(PRUNE_MS, () => this.#prune());
  }

  take(event: StoreEvent, previous: RevisionCell | undefined): void {
    const { key, revision, value = NO_VALUE } = event;
    this.#seen = revision;
    const lane = laneOf(key);
    if (lane === undefined) return;
    if (this.#heldBytes + value.length > MAX_HELD_BYTES) return this.#drop(lane, revision, 1);
    const timeMs = this.#deps.clock.nowMs();
    if (previous !== undefined && previous.revision <= this.#baselines[lane]) {
      const { revision: before } = previous;
      const bytes = previous.stored();
      this.#hold({
        lane,
        record: { key, revision: before, timeMs: 0, change: 'known', author: undefined, value: bytes },
      });
    }
    const change = event.type === 'delete' ? 'deleted' : previous === undefined ? 'created' : 'changed';
    this.#hold({ lane, record: { key, revision, timeMs, change, author: undefined, value } });
    if (this.#pending.length >= FLUSH_CHANGES || this.#heldBytes >= FLUSH_BYTES) this.#flushIn(0);
    else if (this.#timer === undefined) this.#flushIn(FLUSH_MS);
  }

  #hold(pending: HeldChange): void {
    this.#pending.push(pending);
    this.#heldBytes += pending.record.value.length;
  }

  takeGap(after: number, until: number): void {
    if (until <= after) return;
    for (const lane of LANES) this.#addGap({ lane, after, until, changes: 0 });
    this.#seen = Math.max(this.#seen, until);
  }

  #drop(lane: HistoryLane, revision: number, changes: number): void {
    this.#droppedCount += changes;
    this.#dropped.inc({}, changes);
    this.#addGap({ lane, after: revision - 1, until: revision, changes });
  }

  #addGap(gap: HistoryGap): void {
    this.#baselines[gap.lane] = Math.max(this.#baselines[gap.lane], gap.until);
    const last = this.#gaps.findLast(({ lane }) => lane === gap.lane);
    if (last === undefined) this.#gaps.push(gap);
    else
      this.#gaps[this.#gaps.indexOf(last)] = {
        lane: gap.lane,
        after: Math.min(last.after, gap.after),
        until: Math.max(last.until, gap.until),
        changes: last.changes + gap.changes,
      };
  }

  /** Says who made a change. Before or after the caches have seen it. */
  noteAuthor(key: string, revision: number, author: HistoryAuthor): void {
    if (laneOf(key) === undefined) return;
    this.#authors.set(revision, author);
    if (this.#authors.size > MAX_AUTHORS) this.#authors.delete(this.#authors.keys().next().value!);
  }

  #flushIn(delayMs: number): void {
    if (!this.#started || (delayMs > 0 && this.#timer !== undefined)) return;
    this.#timer?.();
    this.#timer = this.#deps.clock.setTimer(delayMs, () => {
      this.#timer = undefined;
      const heldBackMs = this.#deps.store.latestRevision === undefined ? 0 : SHARED_STORE_DELAY_MS;
      background(this.#deps.logger, 'the history could not be written', this.flush(heldBackMs));
    });
  }

  /** Writes what is held, but for the changes of the last milliseconds. Never rejects for a failure of the log. */
  async flush(heldBackMs = 0, isLast = false): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing;
    this.#flushing = this.#flushOnce(heldBackMs, isLast);
    try {
      await this.#flushing;
    } finally {
      this.#flushing = undefined;
      if (this.#pending.length > 0 && this.#timer === undefined)
        this.#flushIn(this.#failure === '' ? FLUSH_MS : RETRY_MS);
    }
  }

  async #flushOnce(heldBackMs: number, isLast: boolean): Promise<void> {
    if (!this.#isOpen && !(await this.#open())) return;
    const untilMs = heldBackMs === 0 ? Infinity : this.#deps.clock.nowMs() - heldBackMs;
    const found = this.#pending.findIndex(({ record }) => record.timeMs > untilMs);
    const count = found < 0 ? this.#pending.length : found;
    if (count === 0 && this.#gaps.length === 0 && !isLast) return;
    const taken = this.#pending.slice(0, count);
    const covered = found < 0 ? this.#seen : taken.reduce((most, { record }) => Math.max(most, record.revision), 0);
    const takenBytes = taken.reduce((sum, { record }) => sum + record.value.length, 0);
    const gaps = this.#gaps;
    this.#gaps = [];
    this.#pending = this.#pending.slice(count);
    const records: Record<HistoryLane, HistoryRecord[]> = { objects: [], events: [] };
    for (const { lane, record } of taken) records[lane].push(this.#complete(record));
    for (const revision of this.#authors.keys()) if (revision <= covered) this.#authors.delete(revision);
    try {
      this.#setStatus(await this.log.append({ records, gaps, covered }));
      this.#recorded.inc({}, taken.length);
      this.#failure = '';
    } catch (error) {
      this.#fail(error);
      for (const gap of gaps) this.#addGap(gap);
      for (const { lane, record } of taken) this.#drop(lane, record.revision, 1);
    } finally {
      this.#heldBytes -= takenBytes;
    }
  }

  /** Adds the author, and takes the form in which the store keeps the value. */
  #complete(record: HeldChange['record']): HistoryRecord {
    const { cipher } = this.#deps.store;
    if (record.change !== 'known') record.author = this.#authors.get(record.revision);
    if (cipher !== undefined && record.value.length > 0) record.value = cipher.seal(record.key, record.value);
    return record;
  }

  /** Opens the log and fetches from the store what a crash has kept from it. */
  async #open(): Promise<boolean> {
    try {
      const start = this.#startRevision;
      const { covered } = this.#setStatus(await this.log.open(start));
      this.#isOpen = true;
      if (covered >= start) return true;
      const missed = await catchUp(this.#deps, covered, start);
      if (missed === undefined) this.takeGap(covered, start);
      for (const pending of missed ?? []) this.#heldBytes += pending.record.value.length;
      this.#pending = [...(missed ?? []), ...this.#pending];
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
    for (const lane of LANES) {
      // The first answer may be lower than assumed: what an earlier life has recorded needs no copy.
      const ownGap = this.#gaps.findLast((gap) => gap.lane === lane)?.until ?? 0;
      const before = this.#isOpen ? this.#baselines[lane] : ownGap;
      this.#baselines[lane] = Math.max(before, status.lanes[lane].baseline);
    }
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

  /** Writes the rest. The log is its owner's to close. */
  async stop(): Promise<void> {
    this.#timer?.();
    this.#timer = undefined;
    this.#cancelPruning?.();
    this.#cancelPruning = undefined;
    const wasStarted = this.#started;
    this.#started = false;
    if (wasStarted) await this.flush(0, true);
  }
}
