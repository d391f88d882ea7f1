/**
 * Buffers changes for the next batch of the history, with their authors, and records gaps for changes without room.
 * The buffer is bounded in bytes.
 */
import {
  HISTORY_LANES,
  type HistoryAuthor,
  type HistoryGap,
  type HistoryLane,
  type HistoryStatus,
} from '../../storage/history-log.ts';
import type { StoreEvent } from '../../storage/store.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import type { HeldChange } from './catch-up.ts';
import { laneOf } from './lanes.ts';

const FLUSH_CHANGES = 1000;
const FLUSH_BYTES = 4 * 1024 * 1024;
const MAX_HELD_BYTES = 16 * 1024 * 1024;
const MAX_AUTHORS = 20_000;
/** Authors are reported just after their change: at most the changes of one commit lie in between. */
const RECENT_CHANGES = 64;
const NO_VALUE = new Uint8Array();

/** Changes and gaps that are written together. */
export interface HeldBatch {
  readonly changes: readonly HeldChange[];
  readonly gaps: readonly HistoryGap[];
  /** Every change up to this revision is in this or an earlier batch. */
  readonly covered: number;
  readonly bytes: number;
}

export class HeldChanges {
  readonly #onDropped: (changes: number) => void;
  /** By lane: the first change of an object after this revision is recorded with the object's former state. */
  readonly #baselines: Record<HistoryLane, number> = { objects: 0, events: 0 };
  #pending: HeldChange[] = [];
  #gaps: HistoryGap[] = [];
  /** By revision: authors of changes that have not arrived yet or arrived long ago. */
  readonly #authors = new Map<number, HistoryAuthor>();
  #bytes = 0;
  #seen = 0;
  #dropped = 0;

  constructor(onDropped: (changes: number) => void) {
    this.#onDropped = onDropped;
  }

  get count(): number {
    return this.#pending.length;
  }

  /** Whether there are enough changes to write them at once. */
  get isMany(): boolean {
    return this.#pending.length >= FLUSH_CHANGES || this.#bytes >= FLUSH_BYTES;
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
    this.#seen = revision;
    const lane = laneOf(key);
    if (lane === undefined) return false;
    if (this.#bytes + value.length > MAX_HELD_BYTES) {
      this.#drop(lane, revision);
      return false;
    }
    if (previous !== undefined && previous.revision <= this.#baselines[lane]) {
      const known = { revision: previous.revision, timeMs: 0, change: 'known', value: previous.stored() } as const;
      this.#hold({ lane, record: { key, author: undefined, ...known } });
    }
    const change = event.type === 'delete' ? 'deleted' : previous === undefined ? 'created' : 'changed';
    this.#hold({ lane, record: { key, revision, timeMs, change, author: undefined, value } });
    return true;
  }

  #hold(change: HeldChange): void {
    this.#pending.push(change);
    this.#bytes += change.record.value.length;
  }

  /** Puts older changes in front. */
  prepend(changes: readonly HeldChange[]): void {
    for (const { record } of changes) this.#bytes += record.value.length;
    this.#pending = [...changes, ...this.#pending];
  }

  takeGap(after: number, until: number): void {
    if (until <= after) return;
    for (const lane of HISTORY_LANES) this.#addGap({ lane, after, until, changes: 0 });
    this.#seen = Math.max(this.#seen, until);
  }

  /** Records a change's author, before or after the change itself. */
  noteAuthor(key: string, revision: number, author: HistoryAuthor): void {
    const record = this.#recent(revision);
    if (record !== undefined) {
      record.author = author;
      return;
    }
    if (laneOf(key) === undefined) return;
    this.#authors.set(revision, author);
    if (this.#authors.size > MAX_AUTHORS) this.#authors.delete(this.#authors.keys().next().value!);
  }

  /** The change of this revision if it is one of the last. */
  #recent(revision: number): HeldChange['record'] | undefined {
    const least = Math.max(0, this.#pending.length - RECENT_CHANGES);
    for (let index = this.#pending.length - 1; index >= least; index--) {
      const { record } = this.#pending[index]!;
      if (record.revision === revision && record.change !== 'known') return record;
    }
    return undefined;
  }

  /** Removes and returns the changes seen until then; undefined when there are none. */
  cut(untilMs: number): HeldBatch | undefined {
    const found = this.#pending.findIndex(({ record }) => record.timeMs > untilMs);
    const count = found < 0 ? this.#pending.length : found;
    if (count === 0 && this.#gaps.length === 0) return undefined;
    const changes = found < 0 ? this.#pending : this.#pending.slice(0, count);
    this.#pending = found < 0 ? [] : this.#pending.slice(count);
    const gaps = this.#gaps;
    this.#gaps = [];
    let bytes = 0;
    let newest = 0;
    for (const { record } of changes) {
      bytes += record.value.length;
      newest = Math.max(newest, record.revision);
      if (record.author === undefined && record.change !== 'known') record.author = this.#authors.get(record.revision);
    }
    const covered = found < 0 ? this.#seen : newest;
    for (const revision of this.#authors.keys()) if (revision <= covered) this.#authors.delete(revision);
    return { changes, gaps, covered, bytes };
  }

  /** Call when the batch is no longer in memory. */
  release({ bytes }: HeldBatch): void {
    this.#bytes -= bytes;
  }

  /** Call when the batch could not be written: its changes become gaps. */
  lose({ changes, gaps }: HeldBatch): void {
    for (const gap of gaps) this.#addGap(gap);
    for (const { lane, record } of changes) this.#drop(lane, record.revision);
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
    this.#onDropped(1);
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
