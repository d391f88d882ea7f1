/** What clients did and what they were told, in the order it happened in this process: what the checker judges. */

/** A key's state as a client saw it. */
export interface Seen {
  readonly revision: number;
  readonly value: string;
}

/** What an operation asked and got. Writes that won have `revision`; lost ones have `current`. */
export type Operation =
  | { readonly kind: 'get'; readonly key: string; readonly found: Seen | undefined }
  | { readonly kind: 'list'; readonly found: ReadonlyMap<string, Seen>; readonly revision: number }
  | {
      readonly kind: 'write';
      readonly key: string;
      /** Undefined: a deletion. */
      readonly value: string | undefined;
      /** 0: must not exist. */
      readonly expect: number;
      readonly revision: number;
    }
  | { readonly kind: 'lost'; readonly key: string; readonly expect: number; readonly current: Seen | undefined }
  /** Lost, without being told against what. */
  | { readonly kind: 'refused'; readonly key: string; readonly expect: number };

/** An operation with its times: places in the one order of all beginnings and ends. */
export interface Timed {
  readonly operation: Operation;
  readonly begun: number;
  readonly ended: number;
}

/** A change as a watch brought it. */
export interface Change {
  readonly revision: number;
  readonly key: string;
  /** Undefined: deleted. */
  readonly value: string | undefined;
}

/** A watch: everything after a revision. */
export interface Watched {
  readonly after: number;
  readonly changes: readonly Change[];
}

/** Everything. */
export interface History {
  readonly operations: readonly Timed[];
  readonly watches: readonly Watched[];
}
