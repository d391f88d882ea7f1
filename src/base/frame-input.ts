/**
 * The bytes of a connection as a reader of frames takes them: heads whole, payloads in the pieces they come in. Nothing
 * but a head that is not whole yet is gathered, so a frame of any length costs no copies and no memory.
 *
 * Invariant: after so much work others have their turn, whatever the frames are like: empty ones cost their heads.
 */

/** Lets others have their turn. */
export interface FramePace {
  /** Before bytes that have come are read. Undefined: go on. */
  turn(): Promise<void> | undefined;
  /** Between two parts of them. */
  yield(): Promise<void>;
}

/** The most bytes of one read. */
const TURN_BYTES = 64 * 1024;
/** A frame costs as much as this many bytes of a payload. */
const FRAME_BYTES = 64;

export class FrameInput {
  readonly #incoming: AsyncIterator<Uint8Array>;
  readonly #pace: FramePace;
  #chunk: Buffer = Buffer.alloc(0);
  /** Work since others had their turn. */
  #done = 0;

  constructor(incoming: AsyncIterable<Uint8Array>, pace: FramePace) {
    this.#incoming = incoming[Symbol.asyncIterator]();
    this.#pace = pace;
  }

  /** As many bytes as a head has; undefined where the stream ends before. */
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

  /** What has come of a payload of which `bytes` are missing, at least one; undefined where the stream ends before. */
  async piece(bytes: number): Promise<Buffer | undefined> {
    const piece = await this.#next(bytes);
    if (piece !== undefined) await this.#count(piece.length);
    return piece;
  }

  /** No more is read of the connection. */
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
