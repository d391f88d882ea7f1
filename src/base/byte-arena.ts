/**
 * Memory for small values that come and go together: they share large pieces, for each buffer of its own takes as much
 * again as half of an event. A piece is freed with its last value, so values of different lifetimes need an arena each.
 */

const PIECE_BYTES = 64 * 1024;
const LARGEST_SHARED_BYTES = 4096;

/** Where short-lived values are kept. */
export class ByteArena {
  #piece = Buffer.alloc(0);
  #used = 0;

  /** The text's UTF-8 bytes; of a long text in memory of its own. */
  encode(text: string): Buffer {
    const kept = this.#room(Buffer.byteLength(text));
    kept.write(text);
    return kept;
  }

  /** The same bytes once more, kept by the same rule. */
  copy(bytes: Buffer): Buffer {
    const kept = this.#room(bytes.length);
    bytes.copy(kept);
    return kept;
  }

  #room(length: number): Buffer {
    return length > LARGEST_SHARED_BYTES ? Buffer.allocUnsafeSlow(length) : this.#take(length);
  }

  #take(length: number): Buffer {
    if (this.#used + length > this.#piece.length) {
      this.#piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
      this.#used = 0;
    }
    return this.#piece.subarray(this.#used, (this.#used += length));
  }
}
