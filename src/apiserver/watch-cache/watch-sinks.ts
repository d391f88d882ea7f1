/** The sinks of watch events: batches of objects for callers in this process, bytes for the network. */
import type { ObjectEvent } from '../../api/transport.ts';
import type { UnreadBytes } from '../../base/backlog.ts';
import type { ByteSink } from '../../platform/streams.ts';
import type { FlushRounds, RoundMember } from './flush-rounds.ts';
import type { WatchSink } from './watcher.ts';

/** A network watcher further behind than this is cut off. */
const MAX_PENDING_BYTES = 16 * 1024 * 1024;
/** An in-process watcher further behind than this is cut off. */
const MAX_PENDING_EVENTS = 100_000;
/** The initial state may be this many times larger than the lag limit. */
const FIRST_BATCH_FACTOR = 64;

/** The most bytes of one write. */
const MAX_PIECE_BYTES = 1024 * 1024;
/** Smaller amounts fit into the buffers of each connection. */
const COUNTED_BYTES = 64 * 1024;

/** An error with a code that says the connection was cut because of its reader, so that the log shows no stack. */
function cutOff(why: string): Error {
  return Object.assign(new Error(why), { code: 'ECONNABORTED' });
}

type Batch = readonly ObjectEvent[];

const END: IteratorReturnResult<undefined> = { done: true, value: undefined };

/**
 * Queues batches for one consumer. The iterators between it and an informer are written by hand, not generators: every event
 * goes through them, and each generator would cost several turns of the promise queue.
 */
export class ObjectSink implements WatchSink<ObjectEvent> {
  #pending: ObjectEvent[] = [];
  #wake: (() => void) | undefined;
  #ended = false;

  push(items: readonly ObjectEvent[]): boolean {
    if (this.#pending.length > MAX_PENDING_EVENTS) return false;
    for (const item of items) this.#pending.push(item);
    this.#wake?.();
    return true;
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** The queued events as one batch; undefined when there are none. */
  take(): IteratorResult<Batch> | undefined {
    if (this.#pending.length === 0) return this.#ended ? END : undefined;
    const batch = this.#pending;
    this.#pending = [];
    return { done: false, value: batch };
  }

  /** Resolves when events are queued or the end is reached; may resolve early. */
  change(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  /** The batches; `onReturn` runs when the consumer stops or the end is reached. */
  batches(onReturn: () => void): AsyncIterableIterator<Batch> {
    return new Batches(this, onReturn);
  }
}

/** The iterator that one consumer reads. */
class Batches implements AsyncIterableIterator<Batch> {
  readonly #sink: ObjectSink;
  readonly #onReturn: () => void;
  #left = false;

  constructor(sink: ObjectSink, onReturn: () => void) {
    this.#sink = sink;
    this.#onReturn = onReturn;
  }

  next(): Promise<IteratorResult<Batch>> {
    const ready = this.#take();
    return ready === undefined ? this.#wait() : Promise.resolve(ready);
  }

  return(): Promise<IteratorResult<Batch>> {
    return Promise.resolve(this.#leave());
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(): IteratorResult<Batch> | undefined {
    if (this.#left) return END;
    const taken = this.#sink.take();
    return taken?.done === true ? this.#leave() : taken;
  }

  #wait(): Promise<IteratorResult<Batch>> {
    return this.#sink.change().then(() => this.#take() ?? this.#wait());
  }

  #leave(): IteratorResult<Batch> {
    if (!this.#left) this.#onReturn();
    this.#left = true;
    return END;
  }
}

/** Collects frames until its round or while the connection is busy, then writes them together. */
export class FrameSink implements WatchSink<Uint8Array>, RoundMember {
  readonly #rounds: FlushRounds;
  readonly #finished = Promise.withResolvers<void>();
  #out: ByteSink | undefined;
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  /** The bytes of the write in progress. */
  #writingBytes = 0;
  /** Set while much is pending. */
  #unread: UnreadBytes | undefined;
  /** Whether its round is pending or a write is in progress. */
  #isBusy = false;
  /** Whether a write is in progress. */
  #isWriting = false;
  /** Set when the watch was cut off: nothing is written any more. */
  #isCut = false;
  #ended = false;
  /** Pending bytes of the initial state; undefined before it arrives. */
  #initialBytes: number | undefined;

  constructor(rounds: FlushRounds) {
    this.#rounds = rounds;
    this.#finished.promise.catch(() => this.#drop()); // the watch may fail before `run` is called
  }

  /**
   * Returns false for a reader that lags too far behind. A stalled reader is cut off: its frames are dropped and its
   * connection is closed.
   */
  push(items: readonly Uint8Array[]): boolean {
    for (const item of items) {
      this.#pending.push(item);
      this.#pendingBytes += item.length;
    }
    this.#countUnread();
    const fits = this.#fits();
    if (fits || !this.#isWriting) this.#goOn();
    else this.fail(cutOff('the watcher does not keep up'));
    return fits;
  }

  #fits(): boolean {
    if (this.#initialBytes === undefined) {
      this.#initialBytes = this.#pendingBytes;
      return this.#pendingBytes <= MAX_PENDING_BYTES * FIRST_BATCH_FACTOR;
    }
    return this.#pendingBytes - this.#initialBytes <= MAX_PENDING_BYTES;
  }

  end(): void {
    this.#ended = true;
    this.#goOn();
  }

  /** Writes until the end. Rejects when the peer disconnects. */
  run(out: ByteSink): Promise<void> {
    this.#out = out;
    this.#goOn();
    return this.#finished.promise;
  }

  flush(join: (frames: readonly Uint8Array[]) => Uint8Array): number {
    if (this.#isCut) return 0;
    this.#isWriting = true;
    const piece = join(this.#takePiece());
    this.#out!.write(piece).then(() => {
      this.#isBusy = this.#isWriting = false;
      this.#writingBytes = 0;
      this.#countUnread();
      this.#goOn();
    }, this.#finished.reject);
    return piece.length;
  }

  fail(error: unknown): void {
    this.#drop();
    this.#finished.reject(error);
  }

  #drop(): void {
    this.#isCut = true;
    this.#pending = [];
    this.#pendingBytes = this.#writingBytes = 0;
    this.#unread?.leave();
  }

  /**
   * The bytes to write next: everything pending, or a part if it is large, so that progress is noticed and no long
   * copy is made.
   */
  #takePiece(): readonly Uint8Array[] {
    const frames = this.#pending;
    if (this.#pendingBytes <= MAX_PIECE_BYTES) {
      this.#pending = [];
      this.#writingBytes = this.#pendingBytes;
      this.#pendingBytes = this.#initialBytes = 0;
      return frames;
    }
    let count = 0;
    let bytes = 0;
    while (bytes < MAX_PIECE_BYTES) bytes += frames[count++]!.length;
    this.#pending = frames.slice(count);
    this.#pendingBytes -= bytes;
    this.#initialBytes = Math.max(0, (this.#initialBytes ?? 0) - bytes);
    this.#writingBytes = bytes;
    return frames.slice(0, count);
  }

  #countUnread(): void {
    const bytes = this.#pendingBytes + this.#writingBytes;
    if (this.#isCut || (this.#unread === undefined && bytes < COUNTED_BYTES)) return;
    this.#unread ??= this.#rounds.reader(() => this.fail(cutOff('the watcher takes nothing')));
    this.#unread.set(bytes);
    if (bytes === 0) this.#unread = undefined;
  }

  #goOn(): void {
    if (this.#out === undefined || this.#isBusy || this.#isCut) return;
    if (this.#pending.length === 0) {
      if (this.#ended) this.#out.end().then(this.#finished.resolve, this.#finished.reject);
      return;
    }
    this.#isBusy = true;
    this.#rounds.add(this);
  }
}
