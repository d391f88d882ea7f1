/** Compresses network traffic, without blocking the event loop. */

/** The compression port. */
export interface Compression {
  /** Compresses to gzip's format, fast rather than small. Does not reject for valid input. */
  gzip(bytes: Uint8Array): Promise<Uint8Array>;
  /**
   * Compresses the chunks of a response, one after another. Undefined when too many responses are being compressed or
   * the signal has aborted; then nothing is in progress any more.
   */
  gzipAnswer(pieces: readonly Uint8Array[], signal: AbortSignal): Promise<readonly Uint8Array[] | undefined>;
  /** Whether bytes are really compressed; if not, no response may have a content encoding. */
  readonly compresses: boolean;
  /** Absent in simulations, where compressed data is never forwarded. */
  readonly inflateRaw?: InflateRaw;
}

/**
 * Inflates one block of raw deflate data that ends at a whole byte. `before` is the output of its stream so far, or
 * the dictionary: the block may refer to its last 32 KiB. Throws a plain Error for invalid data and for output of
 * more than `maxBytes`, which is not produced.
 */
export type InflateRaw = (block: Uint8Array, before: Uint8Array, maxBytes: number) => Uint8Array;
