/** Reads bodies of responses as text, up to a length, so that no server can fill the client's memory. */
import type { HttpAnswer } from './net.ts';

/** The body was longer than the limit. */
export class AnswerTooLongError extends Error {
  override readonly name = 'AnswerTooLongError';
}

/**
 * The whole body. Rejects with {@link AnswerTooLongError} beyond this many bytes; the connection is dropped then. `take` is called with each chunk; its result is awaited before the next chunk is read.
 */
export async function answerText(
  answer: HttpAnswer,
  maxBytes: number,
  take?: (bytes: number) => Promise<void> | undefined,
): Promise<string> {
  const text = new TextOfChunks();
  let bytes = 0;
  for await (const chunk of answer.body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) {
      answer.cancel();
      throw new AnswerTooLongError(`the answer exceeds ${maxBytes} bytes`);
    }
    text.add(chunk);
    const room = take?.(chunk.byteLength);
    if (room !== undefined) await room;
  }
  return text.end();
}

/** The bytes that are decoded together. */
const PIECE_BYTES = 64 * 1024;
const FIRST_PIECE_BYTES = 1024;

/** Decodes small chunks together: a string for each takes some forty bytes for every byte of the body. */
class TextOfChunks {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #text = '';
  #piece = new Uint8Array(FIRST_PIECE_BYTES);
  /** Buffered bytes that are not yet decoded. */
  #waiting = 0;

  add(chunk: Uint8Array): void {
    if (this.#waiting + chunk.byteLength > PIECE_BYTES) this.#decodeWaiting();
    if (chunk.byteLength > PIECE_BYTES) {
      this.#text += this.#decoder.decode(chunk, { stream: true });
      return;
    }
    this.#makeRoom(this.#waiting + chunk.byteLength);
    this.#piece.set(chunk, this.#waiting);
    this.#waiting += chunk.byteLength;
  }

  end(): string {
    this.#decodeWaiting();
    return this.#text + this.#decoder.decode();
  }

  #makeRoom(bytes: number): void {
    if (bytes <= this.#piece.length) return;
    const larger = new Uint8Array(Math.min(PIECE_BYTES, bytes * 2));
    larger.set(this.#piece.subarray(0, this.#waiting));
    this.#piece = larger;
  }

  #decodeWaiting(): void {
    this.#text += this.#decoder.decode(this.#piece.subarray(0, this.#waiting), { stream: true });
    this.#waiting = 0;
  }
}
