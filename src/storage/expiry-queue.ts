/**
 * Deletes keys whose time to live is over. Level-triggered: an expiry is a conditional deletion at the revision that
 * set it, so a key written later stays. Times are wall-clock, so that they survive a restart.
 */
import { Heap } from '../base/heap.ts';
import type { CancelTimer, Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { logFailure } from '../platform/unexpected.ts';

/** A key with a time to live. */
export interface Expiry {
  readonly key: string;
  /** The write that set the time to live. */
  readonly revision: number;
  readonly dueWallMs: number;
}

/** How long after a failed expiry it is tried again. */
const RETRY_MS = 5_000;

/** The keys with a time to live, and one timer for the next of them. */
export class ExpiryQueue {
  readonly #heap = new Heap<Expiry>(
    (expiry) => expiry.key,
    (a, b) => a.dueWallMs < b.dueWallMs,
  );
  readonly #clock: Clock;
  readonly #log: Log | undefined;
  readonly #expire: (due: readonly Expiry[]) => Promise<void>;
  #cancel: CancelTimer | undefined;
  #armedForMs = Infinity;
  #closed = false;

  /** `expire` deletes the keys that are due, if still at their revision. */
  constructor(
    { clock, log }: { readonly clock: Clock; readonly log?: Log | undefined },
    expire: (due: readonly Expiry[]) => Promise<void>,
  ) {
    this.#clock = clock;
    this.#log = log;
    this.#expire = expire;
  }

  /** Adds or replaces the key's expiry. */
  set(expiry: Expiry): void {
    this.#heap.set(expiry);
    this.#arm();
  }

  /** Removes the key's expiry. */
  clear(key: string): void {
    if (this.#heap.size > 0) this.#heap.remove(key);
  }

  /** Stops permanently. */
  close(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  #arm(atLeastMs = 0): void {
    const next = this.#heap.peek();
    if (this.#closed || next === undefined || (this.#cancel !== undefined && this.#armedForMs <= next.dueWallMs))
      return;
    this.#cancel?.();
    this.#armedForMs = next.dueWallMs;
    this.#cancel = this.#clock.setTimer(Math.max(atLeastMs, next.dueWallMs - this.#clock.nowMs()), () => {
      this.#fire().catch((error: unknown) => this.#log?.unexpected('keys could not be expired', error));
    });
  }

  async #fire(): Promise<void> {
    this.#cancel = undefined;
    const due: Expiry[] = [];
    const nowMs = this.#clock.nowMs();
    for (let next = this.#heap.peek(); next !== undefined && next.dueWallMs <= nowMs; next = this.#heap.peek()) {
      due.push(this.#heap.pop()!);
    }
    try {
      if (due.length > 0) await this.#expire(due);
      this.#arm();
    } catch (error) {
      logFailure(this.#log, 'keys could not be expired, again later', error);
      for (const expiry of due) if (!this.#heap.has(expiry.key)) this.#heap.set(expiry);
      this.#arm(RETRY_MS);
    }
  }
}
