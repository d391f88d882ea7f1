/** Compresses what goes over the network. Work of its own turns: it never blocks the loop. */

/** The compression port. */
export interface Compression {
  /** The pieces, one after another, in gzip's form; fast rather than small. Never rejects for sound input. */
  gzip(chunks: readonly Uint8Array[]): Promise<Uint8Array>;
  /** Whether `gzip` really compresses; where it does not, nobody may be told so. */
  readonly compresses: boolean;
}
