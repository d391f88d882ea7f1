/**
 * The bytes of a connection as a reader of frames needs them: complete heads, payloads in the chunks in which they
 * arrive. Only an incomplete head is buffered, so a frame of any length costs no copies and no memory.
 *
 * Invariant: after a fixed amount of work other tasks get a turn, whatever the frames are like: an empty one costs
 * its head.
 */

/** Gives other tasks a turn. */
export interface FramePace {
  /** Called before received bytes are read. Undefined: continue at once. */
  turn(): Promise<void> | undefined;
  /** Called between two parts of the received bytes. */
  yield(): Promise<void>;
}

/** The most bytes of one read. */
const TURN_BYTES = 64 * 1024;
/** Reading a frame's head counts like this many bytes of payload. */
const FRAME_BYTES = 64;

export class FrameInput {
  readonly #incoming: AsyncIterator<Uint8Array>;
  readonly #pace: FramePace;
  #chunk: Buffer = Buffer.alloc(0);
  /** Work done since other tasks had a turn. */
  #done = 0;

  constructor(incoming: AsyncIterable<Uint8Array>, pace: FramePace) {
    this.#incoming = incoming[Symbol.asyncIterator]();
    this.#pace = pace;
  }

  /** The `bytes` bytes of a head; undefined when the stream ends before. */
  async head(bytes: number): Promise<Buffer | undefined> {
    await this.#count(FRAME_BYTES + bytes);
    if (this.#chunk.length >= bytes) return this.#cut(bytes);
    const head = Buffer.alloc(bytes);
    let filled = 0;
    while (filled < bytes) {
      const piece = await this.#next(bytes - filled);
      if (piece === undefined) return undefined;
      head.set(piece, filled);
      filled += piece.length;
    }
    return head;
  }

  /**
   * The next chunk of a payload of which `bytes` are missing, at least one byte; undefined when the stream ends
   * before.
   */
  async piece(bytes: number): Promise<Buffer | undefined> {
    const piece = await this.#next(bytes);
    if (piece !== undefined) await this.#count(piece.length);
    return piece;
  }

  /** Stops reading the connection. */
  async leave(): Promise<void> {
    await this.#incoming.return?.();
  }

  async #next(most: number): Promise<Buffer | undefined> {
    while (this.#chunk.length === 0) {
      const next = await this.#incoming.next();
      if (next.done === true) return undefined;
      const { buffer, byteOffset, byteLength } = next.value;
      this.#chunk = Buffer.from(buffer, byteOffset, byteLength);
      await this.#pace.turn();
    }
    return this.#cut(Math.min(most, this.#chunk.length));
  }

  #cut(bytes: number): Buffer {
    const piece = this.#chunk.subarray(0, bytes);
    this.#chunk = this.#chunk.subarray(bytes);
    return piece;
  }

  async #count(work: number): Promise<void> {
    this.#done += work;
    if (this.#done < TURN_BYTES) return;
    this.#done = 0;
    await this.#pace.yield();
  }
}
