/**
 * Hands changes to watches over the network, of which one client may have thousands: each compares the change with its selector.
 * A few are told at once. Where it takes longer, the rest is told in later turns of the loop, and what changes meanwhile
 * waits behind. Upstream: the cacher's dispatching goroutine, which ends watches that keep it waiting.
 *
 * Invariant: each watch gets the changes in their order, those of one commit together.
 */
import type { Pace } from '../turns.ts';
import type { CacheListener, Concerned } from './listeners.ts';

/** The number of watches that get a change before the clock is read. */
export const DISPATCHED_AT_ONCE = 32;
/** Milliseconds of one turn of the event loop for sending changes to watches. */
const TURN_MS = 2;
/** Beyond this the watches that still lack the oldest changes are ended, as upstream ends those that are too slow. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const MAX_WAITING = 10_000;

/** A watch that may hear of changes a little later than the cache holds them. */
export interface PatientListener {
  readonly listener: CacheListener;
  /** It has missed too many changes and must begin again. */
  giveUp(): void;
}

/** Changes of one commit that some have yet to hear. */
interface Batch {
  readonly hearers: Iterator<Concerned<PatientListener>>;
  readonly bytes: number;
  /** Called when all have heard them. */
  done(): void;
}

export class Dispatch {
  readonly #pace: Pace;
  readonly #onThrow: (error: unknown) => void;
  #waiting: Batch[] = [];
  #waitingBytes = 0;
  /** Too much waits: who has not heard all of it is ended. */
  #isOverfull = false;

  /** `onThrow` is called with the error of a listener that threw. The others still get the changes. */
  constructor(pace: Pace, onThrow: (error: unknown) => void) {
    this.#pace = pace;
    this.#onThrow = onThrow;
  }

  /** Whether some have yet to hear of changes the cache holds. */
  get isBehind(): boolean {
    return this.#waiting.length > 0;
  }

  /** Tells all, now or later. */
  dispatch(batch: Batch): void {
    if (this.#waiting.length > 0) return this.#wait(batch);
    let count = 0;
    while (count++ < DISPATCHED_AT_ONCE) if (!this.#dispatchNext(batch)) return this.#end(batch);
    const due = this.#pace.turn();
    if (due === undefined && this.#dispatchForATurn(batch)) return this.#end(batch);
    this.#wait(batch);
    this.#goOn(due ?? this.#pace.yield()).catch(this.#onThrow);
  }

  #wait(batch: Batch): void {
    this.#waiting.push(batch);
    this.#waitingBytes += batch.bytes;
    if (this.#waiting.length > MAX_WAITING || this.#waitingBytes > MAX_WAITING_BYTES) this.#isOverfull = true;
  }

  async #goOn(due: Promise<void>): Promise<void> {
    await due;
    for (;;) {
      const [batch] = this.#waiting;
      if (batch === undefined) break;
      if (!this.#dispatchForATurn(batch)) {
        await this.#pace.yield();
        continue;
      }
      this.#waiting.shift();
      this.#waitingBytes -= batch.bytes;
      this.#end(batch);
    }
    this.#isOverfull = false;
  }

  /** What throws here must not keep later changes from everybody. */
  #end(batch: Batch): void {
    try {
      batch.done();
    } catch (error) {
      this.#onThrow(error);
    }
  }

  /** False when the turn is over before all are told. */
  #dispatchForATurn(batch: Batch): boolean {
    const startMs = this.#pace.monotonicMs();
    for (let count = 1; this.#dispatchNext(batch); count++)
      if (count % DISPATCHED_AT_ONCE === 0 && this.#pace.monotonicMs() - startMs >= TURN_MS) return false;
    return true;
  }

  /** False when there is nobody left. */
  #dispatchNext({ hearers }: Batch): boolean {
    const next = hearers.next();
    if (next.done === true) return false;
    const [hearer, changes] = next.value;
    try {
      if (this.#isOverfull) hearer.giveUp();
      else hearer.listener(changes);
    } catch (error) {
      this.#onThrow(error);
    }
    return true;
  }
}
