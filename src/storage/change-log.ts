/**
 * The contract of a store's change log: every change as the store keeps it, with the time of its commit, so that the state
 * at any moment can be made of an older copy of the store and the log after it.
 *
 * Invariants: a part has every change between its revisions, whole commits only; the times of commits never run backwards;
 * a change that was acknowledged at a time is in a commit of that time or an earlier one. Values are as they are stored:
 * encrypted where the store's are.
 */

/** The position of a store's log at its begin. */
export interface LogStart {
  /** Identifies this life of the store; a restored copy gets another identity. */
  readonly identity: string;
  readonly revision: number;
  /** Changes after this revision can be read. */
  readonly readableAfter: number;
}

/** Consecutive changes, in the form that `storage/sqlite/change-log/parts.ts` reads. */
export interface LogPart {
  /** The changes after this revision … */
  readonly after: number;
  /** … up to this one. */
  readonly to: number;
  /** Times of the first and the last commit, in wall-clock milliseconds. */
  readonly firstMs: number;
  readonly lastMs: number;
  readonly bytes: Uint8Array;
}

/** The log of a store that keeps one. */
export interface StoreChangeLog {
  /**
   * Starts to record the times of commits. A store with unrecorded changes gets the new identity, and its log begins
   * again.
   */
  begin(newIdentity: string): Promise<LogStart>;
  /**
   * The changes after a revision: all, or `maxBytes` of them with the rest of a commit; undefined when there are
   * none.
   */
  read(afterRevision: number, maxBytes: number): Promise<LogPart | undefined>;
  /** `limit` resolves to the revision up to which a compaction may remove changes. */
  limitCompaction(limit: (revision: number) => Promise<number>): void;
}
