/**
 * The contract of object history: every state of every recorded key, kept within a size and an age beside the store.
 *
 * Invariants: records of a lane are appended in the order of their revisions; what was appended is kept in whole segments
 * and forgotten oldest first; losing it never harms the store. Values are opaque bytes.
 */

export interface HistoryAuthor {
  readonly user: string;
  readonly manager: string;
  readonly verb: string;
  /** '' for the object itself. */
  readonly subresource: string;
}

/** What a record says; `known`: the state before the first change that was recorded, of whoever made it. */
export type HistoryChange = 'created' | 'changed' | 'deleted' | 'known';

/** One state of one key. */
export interface HistoryRecord {
  readonly key: string;
  readonly revision: number;
  /** Wall-clock milliseconds at which the change was seen; 0: not known. */
  readonly timeMs: number;
  readonly change: HistoryChange;
  /** Absent: another server's change, or one from before the history began. */
  readonly author?: HistoryAuthor | undefined;
  /** Empty for a deletion. */
  readonly value: Uint8Array;
}

/** `events`: what changes often and is worth little. It has a share of its own, so that it never pushes out the rest. */
export type HistoryLane = 'objects' | 'events';

export const HISTORY_LANES: readonly HistoryLane[] = ['objects', 'events'];

/** Changes that were not recorded: those after the first revision, up to the second. */
export interface HistoryGap {
  readonly lane: HistoryLane;
  readonly after: number;
  readonly until: number;
  /** How many changes; 0: not known, perhaps none. */
  readonly changes: number;
}

/** What is appended at once. */
export interface HistoryBatch {
  readonly records: Readonly<Record<HistoryLane, readonly HistoryRecord[]>>;
  readonly gaps: readonly HistoryGap[];
  /** Every recorded key's changes up to this revision have been appended, but for the gaps. */
  readonly covered: number;
}

export interface LaneStatus {
  /** Changes after this revision are kept; 0: nothing has been recorded yet. */
  readonly since: number;
  /** When that was. */
  readonly sinceMs: number;
  /** Objects unchanged since this revision may have no record: their next change records the state before it as well. */
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
  /** Only what was so at this wall-clock time or earlier, or at an unknown time. */
  readonly atMs?: number | undefined;
  readonly limit: number;
  /** The page ends earlier where its values are longer; it has one record at least. */
  readonly maxBytes: number;
}

/** A part of a key's history. */
export interface HistoryPage {
  readonly records: readonly HistoryRecord[];
  /** Whether older records are there. */
  readonly more: boolean;
  /** The record that follows the first one and is not wanted; absent: there is none. Its value is left out. */
  readonly next?: HistoryRecord | undefined;
  readonly gaps: readonly HistoryGap[];
  readonly status: LaneStatus;
}

/** What was so at a moment, of a lane. */
export interface HistoryMoment {
  /** The newest change that was recorded at this time or before; the lane's `since` where none was. */
  readonly revision: number;
  readonly gaps: readonly HistoryGap[];
  readonly status: LaneStatus;
}

/** A part of the way through a lane, from the newest change to the oldest. */
export interface HistoryPart {
  readonly lane: HistoryLane;
  /** The newest change that was not read yet; absent for the first part. */
  readonly from?: number | undefined;
  /** The part ends after this many bytes of the lane. */
  readonly maxBytes: number;
}

/** The keys that begin so and have changed after a revision. */
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
  /** Where the next part begins; absent: there is nothing more to be found. */
  readonly next?: number | undefined;
  /** Bytes of the lane that were read. */
  readonly bytes: number;
}

export interface HistoryLimits {
  readonly sizeBytes: number;
  readonly ageMs: number;
}

/** The history's keeper. All methods reject with `StoreError`. */
export interface HistoryLog {
  /**
   * What is there. Forgets everything when it is of another store: when it has seen revisions that are yet to come.
   * `nowRevision`: the store's newest.
   */
  open(nowRevision: number): Promise<HistoryStatus>;
  append(batch: HistoryBatch): Promise<HistoryStatus>;
  read(query: HistoryQuery): Promise<HistoryPage>;
  /** Which revision a lane had come to at a wall-clock time. */
  locate(query: { readonly lane: HistoryLane; readonly timeMs: number }): Promise<HistoryMoment>;
  /** Finds the oldest change of each key after the revision, as far as this part goes. Values are left out. */
  changedKeys(query: ChangedKeysQuery): Promise<HistoryFound>;
  /** Finds the newest record of each key up to the revision, as far as this part goes. */
  states(query: StatesQuery): Promise<HistoryFound>;
  /** Forgets what is too old or too much. */
  prune(): Promise<HistoryStatus>;
  close(): Promise<void>;
}

/** The share of `events` in the size. */
export const EVENTS_SHARE = 1 / 4;
