/**
 * A gate between one component and the API server: passes calls, refuses them (a partition), ends them for good (the component's
 * process has ended), ends its watches, or delays them. Each incarnation of a component has its own gate, so that calls of an
 * ended one cannot reach the server.
 */
import { linkedController } from '../base/abort.ts';
import type { ApiHandler, ApiRequest, ApiResponse, ObjectEvent } from '../api/transport.ts';
import type { Clock } from '../platform/clock.ts';
import type { Random } from '../platform/random.ts';

export interface Gate {
  readonly handler: ApiHandler;
  /** True between `close` and `open`. */
  readonly closed: boolean;
  /** Refuses every call and breaks the watches, until `open`. */
  close(): void;
  open(): void;
  /** Refuses every call for ever; pending calls fail. */
  destroy(): void;
  /** Breaks the existing watches; new ones are passed. */
  dropWatches(): void;
  /** Delays watch events by this time, which makes caches stale; 0 for no delay. */
  lagWatches(lagMs: number): void;
  /** The fraction (0 to 1) of batches of watch events that are delivered twice, as can happen when a watch resumes. */
  repeatWatches(rate: number): void;
  /** Calls `callback` when the `count`th write from now has reached the server, before its response is delivered. */
  afterWrites(count: number, callback: () => void): void;
}

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

export interface GateDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Read at each call, because a restart replaces the server. */
  readonly server: () => ApiHandler | undefined;
}

/** Creates a gate in front of a server's handler. */
export function createGate({ clock, random, server }: GateDeps): Gate {
  let closed = false;
  let destroyed = false;
  let lagMs = 0;
  let repeatRate = 0;
  let watches = new AbortController();
  let onWrite: { left: number; callback: () => void } | undefined;

  const check = (): void => {
    if (destroyed || closed || server() === undefined) throw connectionError();
  };
  const countWrite = (request: ApiRequest): void => {
    if (onWrite === undefined || READS.has(request.method) || --onWrite.left > 0) return;
    const { callback } = onWrite;
    onWrite = undefined;
    callback();
  };
  const dropWatches = (): void => {
    watches.abort(connectionError());
    watches = new AbortController();
  };
  const handler = async (request: ApiRequest): Promise<ApiResponse> => {
    check();
    if (isWatch(request)) return watch(request);
    const response = await server()!(request);
    countWrite(request);
    if (destroyed) throw connectionError();
    return response;
  };
  const watch = async (request: ApiRequest): Promise<ApiResponse> => {
    const linked = linkedController(request.signal, watches.signal);
    const response = await server()!({ ...request, signal: linked.signal });
    if (response.kind !== 'watch') return response;
    return { ...response, events: disturbed(response.events, linked) };
  };
  const disturbed = (
    events: AsyncIterable<readonly ObjectEvent[]>,
    linked: ReturnType<typeof linkedController>,
  ): AsyncIterableIterator<readonly ObjectEvent[]> => {
    const inner = events[Symbol.asyncIterator]();
    let repeated: readonly ObjectEvent[] | undefined;
    const hand = (result: IteratorResult<readonly ObjectEvent[]>): IteratorResult<readonly ObjectEvent[]> => {
      if (result.done === true) linked.dispose();
      else if (repeatRate > 0 && random.next() < repeatRate) repeated = result.value;
      return result;
    };
    const end = (error: unknown): never => {
      linked.dispose();
      void inner.return?.();
      throw error;
    };
    return {
      next() {
        if (repeated !== undefined) {
          const value = repeated;
          repeated = undefined;
          return Promise.resolve({ done: false, value });
        }
        return inner
          .next()
          .then((result) =>
            lagMs > 0 && result.done !== true
              ? clock.sleep(lagMs, linked.signal).then(() => hand(result))
              : hand(result),
          )
          .catch(end);
      },
      async return() {
        linked.dispose();
        await inner.return?.();
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  };
  return {
    handler,
    get closed() {
      return closed;
    },
    dropWatches,
    close() {
      closed = true;
      dropWatches();
    },
    open() {
      closed = false;
    },
    destroy() {
      destroyed = true;
      dropWatches();
    },
    lagWatches(ms) {
      lagMs = ms;
    },
    repeatWatches(rate) {
      repeatRate = rate;
    },
    afterWrites(count, callback) {
      onWrite = { left: count, callback };
    },
  };
}

function isWatch(request: ApiRequest): boolean {
  return request.method === 'GET' && /(^|&)watch=(1|true)(&|$)/.test(request.query);
}

function connectionError(): Error {
  return Object.assign(new Error('connect ECONNREFUSED: the API server cannot be reached'), { code: 'ECONNREFUSED' });
}
