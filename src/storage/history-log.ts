/**
 * The history of objects: every state of every recorded key, kept beside the store within limits of size and age.
 *
 * Invariants: records of a lane are appended in revision order; they are kept in whole segments and removed oldest
 * first; losing the history never harms the store. Values are opaque bytes.
 */
import type { HistoryRecord } from './history-record.ts';
import type { HistoryRecords } from './history-records.ts';

/** `events`: frequent changes of little value. They have a share of their own, so that they never displace the rest. */
export type HistoryLane = 'objects' | 'events';

export const HISTORY_LANES: readonly HistoryLane[] = ['objects', 'events'];

/** Unrecorded changes: after the first revision, up to the second. */
export interface HistoryGap {
  readonly lane: HistoryLane;
  readonly after: number;
  readonly until: number;
  /** How many changes; 0: not known, perhaps none. */
  readonly changes: number;
}

/** The records that are appended together. */
export interface HistoryBatch {
  /** Lanes without records may be absent. */
  readonly records: Readonly<Partial<Record<HistoryLane, HistoryRecords>>>;
  readonly gaps: readonly HistoryGap[];
  /** All changes up to this revision have been appended, apart from the gaps. */
  readonly covered: number;
}

export interface LaneStatus {
  /** Changes after this revision are kept; 0: nothing has been recorded yet. */
  readonly since: number;
  /** The time of `since`. */
  readonly sinceMs: number;
  /** Objects unchanged since this revision may have no record: their next change also records the state before it. */
  readonly baseline: number;
  readonly sizeBytes: number;
  readonly records: number;
}

export interface HistoryStatus {
  readonly covered: number;
  readonly lanes: Readonly<Record<HistoryLane, LaneStatus>>;
}

/** Records of one key, the newest first. */
export interface HistoryQuery {
  readonly lane: HistoryLane;
  readonly key: string;
  /** Only revisions below this one. */
  readonly before?: number | undefined;
  /** Only states at this wall-clock time or earlier, or at an unknown time. */
  readonly atMs?: number | undefined;
  readonly limit: number;
  /** A page ends earlier when its values are longer; it has at least one record. */
  readonly maxBytes: number;
}

/** A part of a key's history. */
export interface HistoryPage {
  readonly records: readonly HistoryRecord[];
  /** Whether older records are there. */
  readonly more: boolean;
  /** The record after the first one, without its value, when it is not part of the page; absent: there is none. */
  readonly next?: HistoryRecord | undefined;
  readonly gaps: readonly HistoryGap[];
  readonly status: LaneStatus;
}

/** The state of a lane at a moment. */
export interface HistoryMoment {
  /** The newest change recorded at or before this time; the lane's `since` without any. */
  readonly revision: number;
  readonly gaps: readonly HistoryGap[];
  readonly status: LaneStatus;
}

/** A part of the walk through a lane, from the newest change to the oldest. */
export interface HistoryPart {
  readonly lane: HistoryLane;
  /** The newest change that was not read yet; absent for the first part. */
  readonly from?: number | undefined;
  /** The part ends after this many bytes of the lane. */
  readonly maxBytes: number;
}

/** Keys with this prefix that have changed after a revision. */
export interface ChangedKeysQuery extends HistoryPart {
  readonly prefix: string;
  /** Keys before this one are left out. */
  readonly start: string;
  readonly after: number;
}

/** The states of some keys right after a revision. */
export interface StatesQuery extends HistoryPart {
  readonly keys: readonly string[];
  readonly at: number;
}

export interface HistoryFound {
  readonly records: readonly HistoryRecord[];
  /** The start of the next part; absent: the walk is complete. */
  readonly next?: number | undefined;
  /** Bytes of the lane that were read. */
  readonly bytes: number;
}

export interface HistoryLimits {
  readonly sizeBytes: number;
  readonly ageMs: number;
}

/** All methods reject with `StoreError`. */
export interface HistoryLog {
  /**
   * Opens the history. Removes everything when it belongs to another store, that is, has revisions that are yet to
   * come. `nowRevision`: the store's newest at the wall-clock time `sinceMs`; a new history has every change after
   * it.
   */
  open(nowRevision: number, sinceMs: number): Promise<HistoryStatus>;
  /** An empty collection of records for a later `append`. */
  newRecords(lane: HistoryLane): HistoryRecords;
  /** Takes over the memory of the records: only their revisions can be read afterwards. */
  append(batch: HistoryBatch): Promise<HistoryStatus>;
  read(query: HistoryQuery): Promise<HistoryPage>;
  /** The revision of a lane at a wall-clock time. */
  locate(query: { readonly lane: HistoryLane; readonly timeMs: number }): Promise<HistoryMoment>;
  /** The oldest change of each key after the revision, within this part. Values are left out. */
  changedKeys(query: ChangedKeysQuery): Promise<HistoryFound>;
  /** The newest record of each key up to the revision, within this part. */
  states(query: StatesQuery): Promise<HistoryFound>;
  /** Removes what exceeds the limits of age and size. */
  prune(): Promise<HistoryStatus>;
  close(): Promise<void>;
}

/** The share of `events` in the size. */
export const EVENTS_SHARE = 1 / 4;
