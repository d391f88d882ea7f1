/** Compresses what goes over the network. Work of its own turns: it never blocks the loop. */

/** The compression port. */
export interface Compression {
  /** The bytes in gzip's form; fast rather than small. Never rejects for sound input. */
  gzip(bytes: Uint8Array): Promise<Uint8Array>;
  /**
   * The pieces of an answer, one after another, in gzip's form. Undefined: too many are being compressed for this one to be, or
   * the signal aborted; then nothing of it is under way any more.
   */
  gzipAnswer(pieces: readonly Uint8Array[], signal: AbortSignal): Promise<readonly Uint8Array[] | undefined>;
  /** Whether bytes are really compressed; if not, no answer may claim a content encoding. */
  readonly compresses: boolean;
  /** Absent in simulations, where nothing that is compressed is passed on. */
  readonly inflateRaw?: InflateRaw;
}

/**
 * Inflates one block of raw deflate data that ends at a whole byte. `before` is what its stream has inflated to so far, or the
 * dictionary it began with: the block may refer to the last 32 KiB of it. Throws a plain Error for what is no such block, and
 * for one of more than `maxBytes`, of which no more is made.
 */
export type InflateRaw = (block: Uint8Array, before: Uint8Array, maxBytes: number) => Uint8Array;
