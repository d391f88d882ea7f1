/**
 * Memory for small values of about the same lifetime: they share large pieces, since a buffer of its own for each
 * adds half of an event's size. A piece is freed with its last value, so values of different lifetimes need an arena
 * each.
 */

const PIECE_BYTES = 64 * 1024;
const LARGEST_SHARED_BYTES = 4096;

/** Where short-lived values are kept. */
export class ByteArena {
  #piece = Buffer.alloc(0);
  #used = 0;

  /** The text's UTF-8 bytes; a long text gets a buffer of its own. */
  encode(text: string): Buffer {
    const kept = this.#room(Buffer.byteLength(text));
    kept.write(text);
    return kept;
  }

  /** A copy of the bytes, stored by the same rule. */
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
