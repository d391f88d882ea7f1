/**
 * Memory for small values that come and go together: they share large pieces, for each buffer of its own takes as much
 * again as half of an event. A piece is freed with its last value.
 */

const PIECE_BYTES = 64 * 1024;
const LARGEST_KEPT_BYTES = 4096;

/** Where short-lived values are kept. */
export class ByteArena {
  #piece = Buffer.alloc(0);
  #used = 0;

  /** A copy of the bytes in shared memory; large ones as they are. */
  keep(bytes: Uint8Array): Uint8Array {
    const { length } = bytes;
    if (length > LARGEST_KEPT_BYTES) return bytes;
    if (this.#used + length > this.#piece.length) {
      this.#piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
      this.#used = 0;
    }
    const kept = this.#piece.subarray(this.#used, this.#used + length);
    kept.set(bytes);
    this.#used += length;
    return kept;
  }
}
