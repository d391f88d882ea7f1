/**
 * What has been made for readers and not been taken by them yet, all together. A reader that takes nothing for long is given up;
 * while all together hold too much, those that stand still go first, the longest-standing before others; while they hold twice
 * as much, the largest, however they move.
 */

export interface BacklogLimits {
  /** For all readers together. */
  readonly totalBytes: number;
  /** Beyond the total, a reader that took nothing for this long stands still. */
  readonly stalledMs: number;
  /** A reader that took nothing for this long is given up in any case. */
  readonly stillMs: number;
}

/** As upstream's limit for a request: what nobody takes for a minute is not waited for. */
const DEFAULT_BACKLOG_LIMITS: BacklogLimits = {
  totalBytes: 256 * 1024 * 1024,
  stalledMs: 2000,
  stillMs: 60_000,
};

/** More than this many times the total is never held for long. */
const MOST_FACTOR = 2;

export class Unread {
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

  /** When the reader last took something, or had nothing to take. */
  get movedMs(): number {
    return this.#movedMs;
  }

  /** What it has not taken now; less than before means that it took something. Zero: it takes no place. */
  set(bytes: number): void {
    if (this.#hasLeft) return;
    const before = this.#bytes;
    this.#bytes = bytes;
    if (before === 0 || bytes < before) this.#movedMs = this.#backlog.nowMs();
    this.#backlog.changed(this, bytes - before);
  }

  /** It has taken everything, or is gone: what its writer says later counts no more. */
  leave(): void {
    this.set(0);
    this.#hasLeft = true;
  }

  /** Ends it as one that stands still. */
  giveUp(): void {
    this.leave();
    this.#giveUp();
  }
}

export class Backlog {
  readonly nowMs: () => number;
  readonly #limits: BacklogLimits;
  readonly #unread = new Set<Unread>();
  #bytes = 0;

  constructor(nowMs: () => number, limits = DEFAULT_BACKLOG_LIMITS) {
    this.nowMs = nowMs;
    this.#limits = limits;
  }

  /** Bytes that wait for all readers. */
  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#unread.size === 0;
  }

  /** @param giveUp drops what the reader did not take, and the reader */
  reader(giveUp: () => void): Unread {
    return new Unread(this, giveUp);
  }

  /** For `Unread` alone. */
  changed(one: Unread, byBytes: number): void {
    this.#bytes += byBytes;
    if (one.bytes === 0) this.#unread.delete(one);
    else this.#unread.add(one);
  }

  /** Gives up those that stand still. Called about once a second while anything is unread. */
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
