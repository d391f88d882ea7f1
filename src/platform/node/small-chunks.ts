/**
 * Joins the chunks of an HTTP/1.1 message that arrive in one read. Node.js passes on each separately, and 64 KB may
 * hold 10,000 of one byte: at ten microseconds each they block the loop.
 */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';

/** Larger chunks are passed on separately. */
const SMALL_BYTES = 1024;
const BLOCK_BYTES = 16 * 1024;

/** Call before the body arrives. Has no effect on messages that are not chunked. */
export function joinSmallChunks(message: IncomingMessage): void {
  if (message.headers['transfer-encoding'] === undefined) return;
  const handOn = message.push.bind(message);
  const joiner = new ChunkJoiner(handOn);
  message.push = (chunk: Uint8Array | null) => joiner.push(chunk);
}

class ChunkJoiner {
  readonly #handOn: Readable['push'];
  #block: Buffer | undefined;
  #used = 0;
  #hasRoom = true;
  #isScheduled = false;

  constructor(handOn: Readable['push']) {
    this.#handOn = handOn;
  }

  /** Has the contract of `Readable.push`: false asks the source to pause. */
  push(chunk: Uint8Array | null): boolean {
    if (chunk === null || chunk.byteLength >= SMALL_BYTES) {
      this.#flush();
      return this.#handOn(chunk);
    }
    if (this.#used + chunk.byteLength > BLOCK_BYTES) this.#flush();
    this.#block ??= Buffer.allocUnsafeSlow(BLOCK_BYTES);
    this.#block.set(chunk, this.#used);
    this.#used += chunk.byteLength;
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      process.nextTick(() => {
        this.#isScheduled = false;
        this.#flush();
      });
    }
    return this.#hasRoom;
  }

  #flush(): void {
    if (this.#used === 0) return;
    // A copy, which must not keep the much larger block.
    const joined = Buffer.from(this.#block!.subarray(0, this.#used));
    this.#used = 0;
    this.#hasRoom = this.#handOn(joined);
  }
}
