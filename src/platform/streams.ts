/**
 * Byte streams between the transport adapters and the components, with backpressure and half-close, free of node:stream
 * types so that simulation can make them too.
 */

/** Where bytes go. */
export interface ByteSink {
  /** Resolves when the sink accepts more; rejects when the other side is gone. */
  write(chunk: Uint8Array | string): Promise<void>;
  /** Ends this direction. Idempotent. */
  end(): Promise<void>;
}

/** A connection both ways. */
export interface Duplex extends ByteSink {
  /** The other side's bytes; ends when it ends. Iterate once. */
  readonly incoming: AsyncIterable<Uint8Array>;
  /** Drops the connection at once in both directions. */
  destroy(error?: Error): void;
  /** Resolves when both directions are over. Never rejects. */
  readonly closed: Promise<void>;
}
