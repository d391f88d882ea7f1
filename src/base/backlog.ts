/**
 * Counts the bytes buffered for all readers together. A reader that takes nothing for long is dropped; while the
 * buffers together are too large, stalled readers are dropped, the longest-stalled first; while they are twice as
 * large, the largest buffer is dropped, stalled or not.
 */

export interface BacklogLimits {
  /** The limit for all readers together. */
  readonly totalBytes: number;
  /** Above the total, a reader that took nothing for this long counts as stalled. */
  readonly stalledMs: number;
  /** A reader that took nothing for this long is always dropped. */
  readonly stillMs: number;
}

/** As upstream's request timeout: a response that the client does not read for a minute is dropped. */
const DEFAULT_BACKLOG_LIMITS: BacklogLimits = {
  totalBytes: 256 * 1024 * 1024,
  stalledMs: 2000,
  stillMs: 60_000,
};

/** Above this multiple of the total, buffers are dropped at once. */
const MOST_FACTOR = 2;

export class UnreadBytes {
  readonly #backlog: Backlog;
  readonly #giveUp: () => void;
  #bytes = 0;
  #movedMs = 0;
  #hasLeft = false;

  constructor(backlog: Backlog, giveUp: () => void) {
    this.#backlog = backlog;
    this.#giveUp = giveUp;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** When the reader last took something or had nothing to take. */
  get movedMs(): number {
    return this.#movedMs;
  }

  /**
   * Sets the number of buffered bytes; a smaller number means that the reader took some. Zero: the reader is not
   * counted.
   */
  set(bytes: number): void {
    if (this.#hasLeft) return;
    const before = this.#bytes;
    this.#bytes = bytes;
    if (before === 0 || bytes < before) this.#movedMs = this.#backlog.nowMs();
    this.#backlog.changed(this, bytes - before);
  }

  /** The stream has taken everything or is closed: later calls of its writer are ignored. */
  leave(): void {
    this.set(0);
    this.#hasLeft = true;
  }

  /** Drops the reader as stalled. */
  giveUp(): void {
    this.leave();
    this.#giveUp();
  }
}

export class Backlog {
  readonly nowMs: () => number;
  readonly #limits: BacklogLimits;
  readonly #unread = new Set<UnreadBytes>();
  #bytes = 0;

  constructor(nowMs: () => number, limits = DEFAULT_BACKLOG_LIMITS) {
    this.nowMs = nowMs;
    this.#limits = limits;
  }

  /** The bytes buffered for all readers. */
  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#unread.size === 0;
  }

  /** @param giveUp drops the reader and its buffer */
  reader(giveUp: () => void): UnreadBytes {
    return new UnreadBytes(this, giveUp);
  }

  /** Called by `Unread` only. */
  changed(one: UnreadBytes, byBytes: number): void {
    this.#bytes += byBytes;
    if (one.bytes === 0) this.#unread.delete(one);
    else this.#unread.add(one);
  }

  /** Drops stalled readers. Called about once a second while anything is buffered. */
  check(): void {
    const { totalBytes, stalledMs, stillMs } = this.#limits;
    const nowMs = this.nowMs();
    for (const one of [...this.#unread]) if (nowMs - one.movedMs >= stillMs) one.giveUp();
    if (this.#bytes <= totalBytes) return;
    const stalled = [...this.#unread].filter(({ movedMs }) => nowMs - movedMs >= stalledMs);
    for (const one of stalled.toSorted((a, b) => a.movedMs - b.movedMs)) {
      if (this.#bytes <= totalBytes) return;
      one.giveUp();
    }
    for (const one of [...this.#unread].toSorted((a, b) => b.bytes - a.bytes)) {
      if (this.#bytes <= totalBytes * MOST_FACTOR || this.#unread.size === 1) return;
      one.giveUp();
    }
  }
}
