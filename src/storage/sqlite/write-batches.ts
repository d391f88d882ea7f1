/** Commits writes together that arrive together. One batch is in progress at a time. */
import { setImmediate } from 'node:timers';
import { createDeferred } from '../../base/deferred.ts';
import type { Clock } from '../../platform/clock.ts';
import type { WriteResult } from '../store.ts';
import type { PendingWrite } from './wire-entries.ts';

/** The limits of a batch. */
const MAX_BATCH_WRITES = 2_000;
const MAX_BATCH_BYTES = 16 * 1024 * 1024;
/** A commit waits for at most this many turns of the event loop. */
const GATHERING_TURNS = 8;

export class WriteBatches {
  readonly #clock: Clock;
  readonly #commit: (batch: readonly PendingWrite[]) => Promise<void>;
  #queue: PendingWrite[] = [];
  /** The number of writes in the last batch. */
  #lastBatch = 0;
  inFlight: Promise<void> | undefined;

  constructor(clock: Clock, commit: (batch: readonly PendingWrite[]) => Promise<void>) {
    this.#clock = clock;
    this.#commit = commit;
  }

  add(write: Omit<PendingWrite, 'deferred'>): Promise<WriteResult> {
    const deferred = createDeferred<WriteResult>();
    this.#queue.push({ ...write, deferred });
    // Writes of this turn are committed together.
    this.inFlight ??= Promise.resolve().then(() => this.#drain());
    return deferred.promise;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      if (this.#queue.length > 1 || this.#lastBatch > 1) await this.#gather();
      const batch = this.#takeBatch();
      this.#lastBatch = batch.length;
      await this.#commit(batch);
    }
    this.inFlight = undefined;
  }

  /**
   * With several writers, waits for requests that the event loop is about to serve, as long as each turn brings more
   * writes. An empty turn takes microseconds; a commit costs as much CPU time as ten writes.
   */
  async #gather(): Promise<void> {
    const release = this.#clock.holdBusy('store batch');
    for (let turn = 0, before = 0; turn < GATHERING_TURNS && this.#queue.length > before; turn++) {
      before = this.#queue.length;
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    release();
  }

  #takeBatch(): PendingWrite[] {
    let bytes = 0;
    let count = 0;
    for (const { value } of this.#queue) {
      bytes += value?.byteLength ?? 0;
      if (count > 0 && (bytes > MAX_BATCH_BYTES || count >= MAX_BATCH_WRITES)) break;
      count++;
    }
    if (count < this.#queue.length) return this.#queue.splice(0, count);
    const batch = this.#queue;
    this.#queue = [];
    return batch;
  }
}
