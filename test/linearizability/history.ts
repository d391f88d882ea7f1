/** The operations of clients and their results, in the order of this process, for the checker. */

/** A key's state as a client saw it. */
export interface Seen {
  readonly revision: number;
  readonly value: string;
}

/** An operation and its result. Successful writes have `revision`; failed ones have `current`. */
export type Operation =
  | { readonly kind: 'get'; readonly key: string; readonly found: Seen | undefined }
  | { readonly kind: 'list'; readonly found: ReadonlyMap<string, Seen>; readonly revision: number }
  | {
      readonly kind: 'write';
      readonly key: string;
      /** Undefined for a deletion. */
      readonly value: string | undefined;
      /** 0: the key must not exist. */
      readonly expect: number;
      readonly revision: number;
    }
  | { readonly kind: 'lost'; readonly key: string; readonly expect: number; readonly current: Seen | undefined }
  /** Failed, without the current state. */
  | { readonly kind: 'refused'; readonly key: string; readonly expect: number };

/** An operation with its times: positions in one order of all beginnings and ends. */
export interface Timed {
  readonly operation: Operation;
  readonly begun: number;
  readonly ended: number;
}

/** A change delivered by a watch. */
export interface Change {
  readonly revision: number;
  readonly key: string;
  /** Undefined for a deletion. */
  readonly value: string | undefined;
}

/** A watch of all changes after a revision. */
export interface Watched {
  readonly after: number;
  readonly changes: readonly Change[];
}

/** All operations and watches. */
export interface History {
  readonly operations: readonly Timed[];
  readonly watches: readonly Watched[];
}
