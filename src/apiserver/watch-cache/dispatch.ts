/**
 * Dispatches changes to network watches, of which one client may have thousands: each compares the change with its
 * selector. A few are notified at once; when it takes longer, the rest is notified in later turns of the event loop,
 * and further changes queue up. Upstream: Cacher.dispatchEvent, which ends watches that keep it waiting.
 *
 * Invariant: each watch gets the changes in order, those of one commit together.
 */
import type { Pace } from '../turns.ts';
import type { CacheListener, ListenerChanges } from './listeners.ts';

/** How many watches get a change before the clock is read. */
const DISPATCHED_AT_ONCE = 32;
/** Larger changes take milliseconds for each watch with its own form, such as a table. */
const LARGE_BYTES = 64 * 1024;

/** How many watches get a change of this size before the clock is read. */
export function dispatchedAtOnce(bytes: number): number {
  return bytes > LARGE_BYTES ? 1 : DISPATCHED_AT_ONCE;
}

/** Milliseconds of one turn of the event loop for sending changes to watches. */
const TURN_MS = 2;
/** Above this, watches that still lack the oldest changes are ended, as upstream ends slow ones. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const MAX_WAITING = 10_000;

/** A watch that may receive changes slightly later than the cache. */
export interface PatientListener {
  readonly listener: CacheListener;
  /** Called when it has missed too many changes and must start over. */
  giveUp(): void;
}

/** The changes of one commit that some listeners have not yet received. */
interface Batch {
  readonly listeners: Iterator<ListenerChanges<PatientListener>>;
  readonly bytes: number;
  /** Called when all listeners have received the batch. */
  done(): void;
}

export class Dispatch {
  readonly #pace: Pace;
  readonly #onThrow: (error: unknown) => void;
  #waiting: Batch[] = [];
  #waitingBytes = 0;
  /** Set when the queue is too large: listeners that have not received all of it are ended. */
  #isOverfull = false;

  /** `onThrow` is called with the error of a listener that threw. The others still get the changes. */
  constructor(pace: Pace, onThrow: (error: unknown) => void) {
    this.#pace = pace;
    this.#onThrow = onThrow;
  }

  /** Whether some listeners have not received all changes that the cache holds. */
  get isBehind(): boolean {
    return this.#waiting.length > 0;
  }

  /** Notifies all listeners, now or later. */
  dispatch(batch: Batch): void {
    if (this.#waiting.length > 0) return this.#wait(batch);
    const atOnce = dispatchedAtOnce(batch.bytes);
    let count = 0;
    while (count++ < atOnce) if (!this.#dispatchNext(batch)) return this.#end(batch);
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

  /** An error here must not keep later changes from other listeners. */
  #end(batch: Batch): void {
    try {
      batch.done();
    } catch (error) {
      this.#onThrow(error);
    }
  }

  /** Returns false when the turn ends before all listeners have the batch. */
  #dispatchForATurn(batch: Batch): boolean {
    const startMs = this.#pace.monotonicMs();
    const atOnce = dispatchedAtOnce(batch.bytes);
    for (let count = 1; this.#dispatchNext(batch); count++)
      if (count % atOnce === 0 && this.#pace.monotonicMs() - startMs >= TURN_MS) return false;
    return true;
  }

  /** Returns false when no listener is left. */
  #dispatchNext({ listeners }: Batch): boolean {
    const next = listeners.next();
    if (next.done === true) return false;
    const [patient, changes] = next.value;
    try {
      if (this.#isOverfull) patient.giveUp();
      else patient.listener(changes);
    } catch (error) {
      this.#onThrow(error);
    }
    return true;
  }
}
