/** A record of the history of objects: one state of one key, and who made it. */

export interface HistoryAuthor {
  readonly user: string;
  readonly manager: string;
  readonly verb: string;
  /** '' for the object itself. */
  readonly subresource: string;
}

/** The kind of a record; `known`: the state before the first recorded change, whose author is unknown. */
export type HistoryChange = 'created' | 'changed' | 'deleted' | 'known';

/** One state of one key. */
export interface HistoryRecord {
  readonly key: string;
  readonly revision: number;
  /** Wall-clock milliseconds at which the change was seen; 0: not known. */
  readonly timeMs: number;
  readonly change: HistoryChange;
  /** Absent: another server made the change, or it was made before the history began. */
  readonly author?: HistoryAuthor | undefined;
  /** Empty for a deletion. */
  readonly value: Uint8Array;
}
