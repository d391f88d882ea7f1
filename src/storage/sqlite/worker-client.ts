/**
 * The store's side of the worker thread: numbered calls, deadlines, and the worker's end. Virtual time stands still
 * during each call.
 */
import { closedError } from '../store-errors.ts';
import type { Worker } from 'node:worker_threads';
import { createDeferred, type Deferred } from '../../base/deferred.ts';
import type { CancelTimer, Clock, ReleaseBusy } from '../../platform/clock.ts';
import { StoreError } from '../store.ts';
import type { WirePage, WireReply } from './protocol.ts';

interface Call {
  readonly onPage: ((page: WirePage) => void) | undefined;
  readonly deferred: Deferred<object>;
  readonly release: ReleaseBusy;
  readonly cancelDeadline: CancelTimer;
}

/** The requests of a worker and their answers. */
type Requests<Operation extends string> = Readonly<
  Record<Operation, { readonly request: object; readonly answer: object }>
>;

/** Calls a worker of one protocol, which the creator of this starts. */
export class WorkerClient<R extends Requests<keyof R & string>> {
  readonly #worker: Worker;
  readonly #clock: Clock;
  readonly #calls = new Map<number, Call>();
  #nextId = 1;
  #gone: StoreError | undefined;
  /** Called once when the worker ends unexpectedly. */
  onLost: (error: StoreError) => void = () => undefined;

  constructor(clock: Clock, worker: Worker) {
    this.#clock = clock;
    this.#worker = worker;
    this.#worker.on('message', (reply: WireReply) => this.#onReply(reply));
    this.#worker.on('error', (error) => this.#lost(error));
    this.#worker.on('exit', () => this.#lost(new Error('the worker ended')));
    this.#worker.unref();
  }

  /** Sends a request; rejects with `StoreError`. A result after the deadline is passed to `late`, if given. */
  call<Op extends keyof R & string>(
    op: Op,
    request: R[Op]['request'],
    limits: CallLimits<R[Op]['answer']> = {},
  ): Promise<R[Op]['answer']> {
    if (this.#gone !== undefined) return Promise.reject(this.#gone);
    const id = this.#nextId++;
    const deferred = createDeferred<object>();
    const { late, onPage, deadlineMs = Infinity, transfer } = limits;
    const cancelDeadline = this.#clock.setTimer(deadlineMs, () => {
      deferred.reject(new StoreError('unknownOutcome', `no answer from the store's worker within ${deadlineMs} ms`));
    });
    this.#calls.set(id, { onPage, deferred, release: this.#clock.holdBusy(`store ${op}`), cancelDeadline });
    if (this.#calls.size === 1) this.#worker.ref();
    if (late !== undefined)
      deferred.promise.catch(() => this.#calls.has(id) && this.#replaceLate(id, late as (answer: object) => void));
    const { values } = request as { values?: Uint8Array<ArrayBuffer> };
    this.#worker.postMessage({ id, op, request }, transfer ?? (values === undefined ? [] : [values.buffer]));
    return deferred.promise as Promise<R[Op]['answer']>;
  }

  /** Waits for the thread to end after `close`. */
  async ended(): Promise<void> {
    this.#gone = closedError();
    await this.#worker.terminate();
  }

  #replaceLate(id: number, late: (answer: object) => void): void {
    const deferred = createDeferred<object>();
    deferred.promise.then(late, () => undefined); // the writers have already got `unknownOutcome`
    this.#calls.set(id, { ...this.#calls.get(id)!, deferred });
  }

  #onReply(reply: WireReply): void {
    if ('page' in reply) return this.#onPage(reply);
    const call = this.#take(reply.id);
    if (call === undefined) return;
    if ('answer' in reply) call.deferred.resolve(reply.answer);
    else call.deferred.reject(new StoreError(reply.error.code, reply.error.message));
  }

  #onPage({ id, page }: Extract<WireReply, { page: WirePage }>): void {
    try {
      this.#calls.get(id)?.onPage?.(page);
    } catch (error) {
      this.#take(id)?.deferred.reject(error);
    }
  }

  #take(id: number): Call | undefined {
    const call = this.#calls.get(id);
    if (call === undefined) return undefined;
    this.#calls.delete(id);
    call.cancelDeadline();
    // Released after the result's consequences have begun, so that virtual time cannot advance in between.
    call.deferred.promise.then(call.release, call.release);
    if (this.#calls.size === 0) this.#worker.unref();
    return call;
  }

  #lost(cause: Error): void {
    if (this.#gone !== undefined) return;
    this.#gone = new StoreError('unavailable', `the store's worker failed: ${cause.message}`, { cause });
    for (const id of this.#calls.keys()) {
      this.#take(id)?.deferred.reject(new StoreError('unknownOutcome', this.#gone.message, { cause }));
    }
    this.onLost(this.#gone);
  }
}

export interface CallLimits<Answer> {
  /** The call rejects with `unknownOutcome` after this time. Default: never. */
  readonly deadlineMs?: number;
  /** Called with the parts before the result; the call rejects with what it throws. */
  readonly onPage?: (page: WirePage) => void;
  /** Buffers that are transferred instead of copied. Default: that of the request's `values`. */
  readonly transfer?: readonly ArrayBuffer[];
  /** Called with a result after the deadline. */
  readonly late?: (answer: Answer) => void;
}
