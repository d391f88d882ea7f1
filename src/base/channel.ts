/**
 * An asynchronous queue in the manner of a Go channel: values come out in the order they went in, `close` lets the rest
 * drain, iteration ends after it. With a capacity, `send` waits for room: nothing is ever dropped.
 */

interface Waiting<T> {
  readonly value: T;
  readonly accepted: () => void;
  readonly refused: (error: Error) => void;
}

/** Thrown by `send` once the channel is closed. */
export class ChannelClosedError extends Error {
  constructor() {
    super('channel is closed');
    this.name = 'ChannelClosedError';
  }
}

/** A queue between producers and consumers. */
export class Channel<T> implements AsyncIterable<T> {
  readonly #capacity: number;
  #buffer: T[] = [];
  #head = 0;
  readonly #receivers: ((result: IteratorResult<T, undefined>) => void)[] = [];
  readonly #senders: Waiting<T>[] = [];
  #closed = false;

  /** @param capacity values held before `send` waits; unbounded by default. */
  constructor(capacity: number = Number.POSITIVE_INFINITY) {
    this.#capacity = capacity;
  }

  /** Values that wait to be received. */
  get size(): number {
    return this.#buffer.length - this.#head + this.#senders.length;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Resolves when the value is buffered or received; rejects with `ChannelClosedError` when closed. */
  send(value: T): Promise<void> {
    if (this.trySend(value)) return Promise.resolve();
    if (this.#closed) return Promise.reject(new ChannelClosedError());
    return new Promise((accepted, refused) => this.#senders.push({ value, accepted, refused }));
  }

  /** Hands over the value at once; false when there is no room or the channel is closed. */
  trySend(value: T): boolean {
    if (this.#closed) return false;
    const receiver = this.#receivers.shift();
    if (receiver !== undefined) {
      receiver({ done: false, value });
      return true;
    }
    if (this.#buffer.length - this.#head >= this.#capacity) return false;
    this.#buffer.push(value);
    return true;
  }

  /** The next value, or `done` when the channel is closed and drained. */
  receive(): Promise<IteratorResult<T, undefined>> {
    const ready = this.#take();
    if (ready !== undefined) return Promise.resolve(ready);
    if (this.#closed) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.#receivers.push(resolve));
  }

  /** Everything that waits, at once. */
  drain(): T[] {
    const all: T[] = [];
    for (let next = this.#take(); next !== undefined; next = this.#take()) {
      if (!next.done) all.push(next.value);
    }
    return all;
  }

  /** Refuses further values; what was sent before can still be received. Idempotent. */
  close(): void {
    this.#closed = true;
    for (const receiver of this.#receivers.splice(0)) receiver({ done: true, value: undefined });
    for (const sender of this.#senders.splice(0)) sender.refused(new ChannelClosedError());
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, undefined> {
    for (;;) {
      const next = await this.receive();
      if (next.done) return undefined;
      yield next.value;
    }
  }

  #take(): IteratorYieldResult<T> | undefined {
    if (this.#head < this.#buffer.length) {
      const value = this.#buffer[this.#head]!;
      this.#buffer[this.#head++] = undefined as T;
      if (this.#head > 64 && this.#head * 2 > this.#buffer.length) {
        this.#buffer = this.#buffer.slice(this.#head);
        this.#head = 0;
      }
      const sender = this.#senders.shift();
      if (sender !== undefined) {
        this.#buffer.push(sender.value);
        sender.accepted();
      }
      return { done: false, value };
    }
    const sender = this.#senders.shift();
    if (sender === undefined) return undefined;
    sender.accepted();
    return { done: false, value: sender.value };
  }
}
