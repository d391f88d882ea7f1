/** The options of every gRPC call besides its request. */

/** Limits of one call. */
export interface GrpcCallOptions {
  /** Ends the call; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Deadline in milliseconds, counted from the call; none when absent or 0. */
  readonly timeoutMs?: number | undefined;
  /** Sent with this call, in addition to those of the caller. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}
