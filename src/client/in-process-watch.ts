/** A watch inside the server's own process: batches of events come as objects, straight from the watch cache. */
import { statusFailure } from '../api/status-error.ts';
import type { ApiResponse } from '../api/transport.ts';
import { linkedController } from '../base/abort.ts';
import type { Clock } from '../platform/clock.ts';
import { errorOfAnswer } from './answer-error.ts';
import type { WatchEvent } from './client.ts';
import { toAnswer } from './in-process-answers.ts';
import { eventsOfStream } from './stream-answers.ts';
import type { TransportRequest } from './transport-client.ts';

type Batch = readonly WatchEvent<unknown>[];

/**
 * The watch is requested with the first batch. Not a generator: every event of every informer passes here. A class:
 * each simulated node has a handful.
 */
export class InProcessWatch implements AsyncIterableIterator<Batch> {
  readonly #request: TransportRequest;
  readonly #send: (signal: AbortSignal) => ApiResponse | Promise<ApiResponse>;
  readonly #clock: Clock;
  #stop: ReturnType<typeof linkedController> | undefined;
  #inner: AsyncIterator<Batch> | undefined;
  #ended = false;

  constructor(
    request: TransportRequest,
    send: (signal: AbortSignal) => ApiResponse | Promise<ApiResponse>,
    clock: Clock,
  ) {
    this.#request = request;
    this.#send = send;
    this.#clock = clock;
  }

  next(): Promise<IteratorResult<Batch>> {
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return (this.#inner === undefined ? this.#open() : this.#inner.next()).then(
      (result) => {
        if (result.done === true) this.#end();
        return result;
      },
      (error: unknown) => {
        this.#end();
        throw error;
      },
    );
  }

  async return(): Promise<IteratorResult<Batch>> {
    this.#end();
    await this.#inner?.return?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #open(): Promise<IteratorResult<Batch>> {
    this.#request.signal?.throwIfAborted();
    this.#stop = linkedController(this.#request.signal);
    const response = await this.#send(this.#stop.signal);
    if (response.kind === 'stream' && response.status < 400) {
      // An aggregated server may not end the initial objects with a bookmark.
      if (/(^|&)sendInitialEvents=true(&|$)/.test(this.#request.query)) {
        this.#stop.abort(new Error('watch stopped'));
        throw statusFailure(422, 'Invalid', 'sendInitialEvents: the server of this API may not support it');
      }
      this.#inner = eventsOfStream(response, this.#clock);
      return this.#inner.next();
    }
    if (response.kind !== 'watch') {
      const answer = await toAnswer(response, this.#clock);
      throw errorOfAnswer(answer.status, answer.object);
    }
    this.#inner = (response.events as AsyncIterable<Batch>)[Symbol.asyncIterator]();
    return this.#inner.next();
  }

  #end(): void {
    if (!this.#ended) this.#stop?.abort(new Error('watch stopped'));
    this.#ended = true;
    this.#stop?.dispose();
  }
}
