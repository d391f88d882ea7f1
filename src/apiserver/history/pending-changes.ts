/**
 * Buffers changes for the next batch of the history, with their authors, and records gaps for changes without room.
 * The buffer is bounded in bytes. Changes are packed as they arrive (`storage/history-records.ts`).
 */
import {
  HISTORY_LANES,
  type HistoryBatch,
  type HistoryGap,
  type HistoryLane,
  type HistoryStatus,
} from '../../storage/history-log.ts';
import type { HistoryAuthor, HistoryRecord } from '../../storage/history-record.ts';
import type { HistoryRecords } from '../../storage/history-records.ts';
import type { StoreEvent } from '../../storage/store.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import type { MissedChange } from './catch-up.ts';
import { laneOf } from './lanes.ts';

const FLUSH_CHANGES = 1000;
const FLUSH_BYTES = 4 * 1024 * 1024;
const MAX_PENDING_BYTES = 16 * 1024 * 1024;
const MAX_AUTHORS = 20_000;
const NO_VALUE = new Uint8Array();

/** Changes and gaps that are written together. */
export interface PendingBatch extends HistoryBatch {
  readonly count: number;
  readonly bytes: number;
}

export interface PendingChangesDeps {
  /** An empty collection of a lane's records. */
  newRecords(lane: HistoryLane): HistoryRecords;
  /** The value in the store's encoding. */
  seal(key: string, value: Uint8Array): Uint8Array;
  onDropped(changes: number): void;
}

export class PendingChanges {
  readonly #deps: PendingChangesDeps;
  /** By lane: the first change of an object after this revision is recorded with the object's former state. */
  readonly #baselines: Record<HistoryLane, number> = { objects: 0, events: 0 };
  #records: Partial<Record<HistoryLane, HistoryRecords>> = {};
  #gaps: HistoryGap[] = [];
  /** By revision: authors of changes that have not arrived yet or arrived long ago. */
  readonly #authors = new Map<number, HistoryAuthor>();
  #bytes = 0;
  #seen = 0;
  #dropped = 0;

  constructor(deps: PendingChangesDeps) {
    this.#deps = deps;
  }

  get count(): number {
    return countOf(this.#records);
  }

  /** Whether there are enough changes to write them at once. */
  get isMany(): boolean {
    return this.count >= FLUSH_CHANGES || this.#bytes >= FLUSH_BYTES;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** The newest revision that was seen. */
  get seen(): number {
    return this.#seen;
  }

  startAt(revision: number): void {
    this.#seen = Math.max(this.#seen, revision);
    for (const lane of HISTORY_LANES) this.#raise(lane, revision);
  }

  /** Returns false when the change is not buffered. */
  take(event: StoreEvent, previous: RevisionCell | undefined, timeMs: number): boolean {
    const { key, revision, value = NO_VALUE } = event;
    this.#seen = Math.max(this.#seen, revision);
    const lane = laneOf(key);
    if (lane === undefined) return false;
    if (this.#bytes + value.length > MAX_PENDING_BYTES) {
      this.#drop(lane, revision);
      return false;
    }
    if (previous !== undefined && previous.revision <= this.#baselines[lane]) {
      const known = { revision: previous.revision, timeMs: 0, change: 'known', value: previous.stored() } as const;
      this.#hold(lane, { key, ...known });
    }
    const change = event.type === 'delete' ? 'deleted' : previous === undefined ? 'created' : 'changed';
    this.#hold(lane, { key, revision, timeMs, change, author: undefined, value });
    return true;
  }

  #hold(lane: HistoryLane, record: HistoryRecord): void {
    const records = (this.#records[lane] ??= this.#deps.newRecords(lane));
    const before = records.valueBytes;
    records.add(record, this.#deps.seal(record.key, record.value));
    this.#bytes += records.valueBytes - before;
  }

  /** Puts older changes in front. */
  prepend(changes: readonly MissedChange[]): void {
    const later = this.#records;
    this.#records = {};
    for (const { lane, record } of changes) this.#hold(lane, record);
    for (const lane of HISTORY_LANES)
      for (const record of later[lane] ?? []) (this.#records[lane] ??= this.#deps.newRecords(lane)).add(record);
  }

  takeGap(after: number, until: number): void {
    if (until <= after) return;
    for (const lane of HISTORY_LANES) this.#addGap({ lane, after, until, changes: 0 });
    this.#seen = Math.max(this.#seen, until);
  }

  /** Records a change's author, before or after the change itself. */
  noteAuthor(key: string, revision: number, author: HistoryAuthor): void {
    const { objects, events } = this.#records;
    if (objects?.noteAuthor(revision, author) === true || events?.noteAuthor(revision, author) === true) return;
    if (laneOf(key) === undefined) return;
    this.#authors.set(revision, author);
    if (this.#authors.size > MAX_AUTHORS) this.#authors.delete(this.#authors.keys().next().value!);
  }

  /** Removes and returns the changes seen until then; undefined when there are none. */
  cut(untilMs: number): PendingBatch | undefined {
    const records = this.#records;
    this.#records = {};
    let covered = this.#seen;
    for (const lane of HISTORY_LANES)
      for (const record of records[lane]?.cutAfter(untilMs) ?? []) {
        (this.#records[lane] ??= this.#deps.newRecords(lane)).add(record);
        if (record.change !== 'known') covered = Math.min(covered, record.revision - 1);
      }
    const count = countOf(records);
    if (count === 0 && this.#gaps.length === 0) return undefined;
    const gaps = this.#gaps;
    this.#gaps = [];
    let bytes = 0;
    for (const lane of HISTORY_LANES) {
      bytes += records[lane]?.valueBytes ?? 0;
      if (this.#authors.size > 0) records[lane]?.addAuthors((revision) => this.#authors.get(revision));
    }
    for (const revision of this.#authors.keys()) if (revision <= covered) this.#authors.delete(revision);
    return { records, count, gaps, covered, bytes };
  }

  /** Call when the batch is no longer in memory. */
  release({ bytes }: PendingBatch): void {
    this.#bytes -= bytes;
  }

  /** Call when the batch could not be written: its changes become gaps. */
  lose({ records, gaps }: PendingBatch): void {
    for (const gap of gaps) this.#addGap(gap);
    for (const lane of HISTORY_LANES)
      for (const revision of records[lane]?.revisions() ?? []) this.#drop(lane, revision);
  }

  /** Updates the baselines from what the log has recorded. `isOpen`: the log has answered before. */
  raiseBaselines({ lanes }: HistoryStatus, isOpen: boolean): void {
    for (const lane of HISTORY_LANES) {
      // The first answer may be lower than assumed: changes recorded by an earlier process need no former state.
      if (!isOpen) this.#baselines[lane] = this.#gaps.findLast((gap) => gap.lane === lane)?.until ?? 0;
      this.#raise(lane, lanes[lane].baseline);
    }
  }

  #raise(lane: HistoryLane, revision: number): void {
    this.#baselines[lane] = Math.max(this.#baselines[lane], revision);
  }

  #drop(lane: HistoryLane, revision: number): void {
    this.#dropped++;
    this.#deps.onDropped(1);
    this.#addGap({ lane, after: revision - 1, until: revision, changes: 1 });
  }

  #addGap(gap: HistoryGap): void {
    this.#raise(gap.lane, gap.until);
    const index = this.#gaps.findLastIndex(({ lane }) => lane === gap.lane);
    const last = this.#gaps[index];
    if (last === undefined) this.#gaps.push(gap);
    else
      this.#gaps[index] = {
        lane: gap.lane,
        after: Math.min(last.after, gap.after),
        until: Math.max(last.until, gap.until),
        changes: last.changes + gap.changes,
      };
  }
}

function countOf({ objects, events }: HistoryBatch['records']): number {
  return (objects?.count ?? 0) + (events?.count ?? 0);
}
