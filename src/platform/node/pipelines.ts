/**
 * Serves pipelined HTTP/1.1 requests one after the other, each in a turn of its own. Node.js would call the handler
 * at once for everything in one read, thousands of requests.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { flowOf } from './client-flow.ts';
import { readThrottle } from './read-throttle.ts';
import { waitingHeads } from './waiting-heads.ts';

/** A connection with more waiting requests is closed, as are those that would exceed the limit of all connections. */
const MAX_WAITING = 1000;

interface Pipeline {
  last: ServerResponse;
  waiting: number;
  /** The bytes of waiting heads. */
  bytes: number;
  /** The flow they are counted for: the first request's, even if a certificate expires later. */
  counted: { readonly flow: string | undefined } | undefined;
}

export class Pipelines {
  readonly #bySocket = new WeakMap<Socket, Pipeline>();

  /** Serves the request at once, or after the responses before it on the connection. */
  enter(message: IncomingMessage, response: ServerResponse, serve: () => void): void {
    const { socket } = message;
    const pipeline = this.#bySocket.get(socket);
    if (pipeline === undefined)
      this.#bySocket.set(socket, { last: response, waiting: 0, bytes: 0, counted: undefined });
    // A response gets the socket only when its turn comes.
    if (pipeline === undefined || response.socket !== null) {
      if (pipeline !== undefined) pipeline.last = response;
      return serve();
    }
    const before = pipeline.last;
    pipeline.last = response;
    readThrottle.reportWaiting();
    const leave = socket.destroyed ? undefined : this.#wait(pipeline, message);
    if (leave === undefined) {
      socket.destroy();
      return;
    }
    before.once('close', () =>
      setImmediate(() => {
        leave();
        if (!socket.destroyed) serve();
      }),
    );
  }

  /**
   * Counts a request until it is served or its connection closes: not every version of Node.js closes waiting
   * responses. Undefined when there are too many.
   */
  #wait(pipeline: Pipeline, { socket, rawHeaders, url = '' }: IncomingMessage): (() => void) | undefined {
    const { flow } = pipeline.counted ?? { flow: flowOf(socket) };
    const bytes = pipeline.waiting < MAX_WAITING ? waitingHeads.enter(flow, [url, ...rawHeaders]) : undefined;
    if (bytes === undefined) return undefined;
    if (pipeline.counted === undefined) {
      pipeline.counted = { flow };
      socket.once('close', () => waitingHeads.leave(flow, pipeline.bytes));
    }
    pipeline.waiting++;
    pipeline.bytes += bytes;
    return () => {
      pipeline.waiting--;
      if (socket.destroyed) return;
      pipeline.bytes -= bytes;
      waitingHeads.leave(flow, bytes);
    };
  }
}
