/**
 * Buffers a body while it is received. A chunk may be a single byte: a buffer for each would take two hundred times
 * its size, and with HTTP/2 the whole read it is part of. Small chunks are copied together.
 */
import { readThrottle } from './read-throttle.ts';

/** Larger chunks are not copied. */
const KEPT_BYTES = 4096;
const BLOCK_BYTES = 16 * 1024;
/** After this many chunks of a body, which may be thousands in one read, other work gets a turn. */
const FEW_CHUNKS = 16;

export class BodyBuffer {
  /** Bytes so far. */
  length = 0;
  readonly #whole: Uint8Array[] = [];
  #block: Buffer | undefined;
  #used = 0;
  #count = 0;

  add(chunk: Uint8Array): void {
    this.length += chunk.byteLength;
    if (++this.#count > FEW_CHUNKS) readThrottle.reportWaiting();
    // Most bodies are one chunk.
    if (chunk.byteLength >= KEPT_BYTES || this.#count === 1) {
      this.#seal();
      this.#whole.push(chunk);
    } else this.#copy(chunk);
  }

  /** Everything, in order. */
  take(): Uint8Array {
    this.#seal();
    const [first] = this.#whole;
    return first !== undefined && this.#whole.length === 1 ? first : Buffer.concat(this.#whole, this.length);
  }

  #copy(chunk: Uint8Array): void {
    if (this.#block !== undefined && this.#used + chunk.byteLength > BLOCK_BYTES) this.#seal();
    this.#block ??= Buffer.allocUnsafeSlow(BLOCK_BYTES);
    this.#block.set(chunk, this.#used);
    this.#used += chunk.byteLength;
  }

  #seal(): void {
    if (this.#block === undefined) return;
    this.#whole.push(this.#block.subarray(0, this.#used));
    this.#block = undefined;
    this.#used = 0;
  }
}
