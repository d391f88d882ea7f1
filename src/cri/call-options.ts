/** What every CRI call takes beside its request, and the shape of requests. */

/** Limits of one call. */
export interface CriCallOptions {
  /** Ends the call; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Deadline in milliseconds; the method's own default when absent, none when 0. */
  readonly timeoutMs?: number | undefined;
}

/** A message with any field left out: an absent field is its zero value. */
export type Init<T> = T extends string | number | boolean | Uint8Array
  ? T
  : T extends readonly (infer U)[]
    ? readonly Init<U>[]
    : string extends keyof T
      ? T
      : { readonly [K in keyof T]?: Init<T[K]> | undefined };
