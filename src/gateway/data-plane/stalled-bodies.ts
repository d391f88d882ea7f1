/**
 * Bodies that wait because their receiver reads nothing: the buffers of a request hold a quarter of a MiB of each, outside of
 * JavaScript's heap. When all together hold too much, those that have waited longest are ended.
 */
import { Backlog, type BacklogLimits, type UnreadBytes } from '../../base/backlog.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';

const CHECK_EVERY_MS = 1000;
/** The bytes of a waiting body in its source, its parser and its target: three or four reads of a socket. */
export const HELD_BYTES = 256 * 1024;

export class StalledBodies {
  readonly #clock: Clock;
  readonly #backlog: Backlog;
  #cancel: CancelTimer | undefined;

  constructor(clock: Clock, limits?: BacklogLimits) {
    this.#clock = clock;
    this.#backlog = new Backlog(() => clock.monotonicMs(), limits);
  }

  /** The waiting bytes of all bodies. */
  get bytes(): number {
    return this.#backlog.bytes;
  }

  /** Registers a body that waits. `giveUp` ends it. */
  enter(giveUp: () => void): UnreadBytes {
    const waiting = this.#backlog.reader(giveUp);
    waiting.set(HELD_BYTES);
    this.#cancel ??= this.#clock.setTicker(CHECK_EVERY_MS, () => this.#check());
    return waiting;
  }

  #check(): void {
    this.#backlog.check();
    if (!this.#backlog.isEmpty) return;
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
