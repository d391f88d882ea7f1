/** Where watch events go: batches of objects for callers in this process, bytes for the network. */
import type { ObjectEvent } from '../../api/transport.ts';
import type { ByteSink } from '../../platform/streams.ts';
import type { WatchSink } from './watcher.ts';

/** A network watcher further behind than this is cut off. */
const maxPendingBytes = 16 * 1024 * 1024;
/** An in-process watcher further behind than this is cut off. */
const maxPendingEvents = 100_000;
/** The initial state may be larger than what a watcher may lag behind. */
const firstBatchFactor = 64;

/**
 * Queues batches for one consumer. The iterators between it and an informer are written by hand, not generators: every event
 * goes through them, and each generator would cost several turns of the promise queue.
 */
export class ObjectSink implements WatchSink<ObjectEvent> {
  #pending: ObjectEvent[] = [];
  #wake: (() => void) | undefined;
  #ended = false;

  push(items: readonly ObjectEvent[]): boolean {
    if (this.#pending.length > maxPendingEvents) return false;
    for (const item of items) this.#pending.push(item);
    this.#wake?.();
    return true;
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** The batches; `onReturn` runs when the consumer stops or the end is reached. */
  batches(onReturn: () => void): AsyncIterableIterator<readonly ObjectEvent[]> {
    let left = false;
    const leave = (): IteratorResult<readonly ObjectEvent[]> => {
      if (!left) onReturn();
      left = true;
      return { done: true, value: undefined };
    };
    const take = (): IteratorResult<readonly ObjectEvent[]> | undefined => {
      if (left || (this.#ended && this.#pending.length === 0)) return leave();
      if (this.#pending.length === 0) return undefined;
      const batch = this.#pending;
      this.#pending = [];
      return { done: false, value: batch };
    };
    const wait = (): Promise<IteratorResult<readonly ObjectEvent[]>> =>
      new Promise<void>((resolve) => (this.#wake = resolve)).then(() => {
        this.#wake = undefined;
        return take() ?? wait();
      });
    return {
      next() {
        const ready = take();
        return ready === undefined ? wait() : Promise.resolve(ready);
      },
      return: () => Promise.resolve(leave()),
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }
}

/** Collects frames while the connection is busy and writes what came together in one piece. */
export class FrameSink implements WatchSink<Uint8Array> {
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #wake: (() => void) | undefined;
  #ended = false;
  #allowance = maxPendingBytes * firstBatchFactor;

  push(items: readonly Uint8Array[]): boolean {
    for (const item of items) {
      this.#pending.push(item);
      this.#pendingBytes += item.length;
    }
    const fits = this.#pendingBytes <= this.#allowance;
    this.#allowance = maxPendingBytes;
    this.#wake?.();
    return fits;
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** Writes until the end. Rejects when the other side is gone. */
  async run(sink: ByteSink): Promise<void> {
    for (;;) {
      if (this.#pending.length > 0) {
        const frames = this.#pending;
        this.#pending = [];
        this.#pendingBytes = 0;
        await sink.write(frames.length === 1 ? frames[0]! : Buffer.concat(frames));
      } else if (this.#ended) {
        await sink.end();
        return;
      } else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = undefined;
      }
    }
  }
}
