/**
 * Requests that a client sends before it has its answers (HTTP/1.1 pipelining): served one after the other, each in a turn of
 * its own. Node would call the handler for all that one read brought, thousands, at once.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { laneOf } from './client-lane.ts';
import { readBrake } from './read-brake.ts';
import { waitingHeads } from './waiting-heads.ts';

/** More requests that wait on one connection end it, as does what would hold too much of all connections. */
const MAX_WAITING = 1000;

interface Pipeline {
  last: ServerResponse;
  waiting: number;
  /** What the heads of those that wait count. */
  bytes: number;
  /** The lane that they count for: that of the first, though a certificate may end meanwhile. */
  counted: { readonly lane: string | undefined } | undefined;
}

export class Pipelines {
  readonly #bySocket = new WeakMap<Socket, Pipeline>();

  /** Serves at once where no answer is under way on the connection, else when the one before has gone out. */
  enter(message: IncomingMessage, response: ServerResponse, serve: () => void): void {
    const { socket } = message;
    const pipeline = this.#bySocket.get(socket);
    if (pipeline === undefined)
      this.#bySocket.set(socket, { last: response, waiting: 0, bytes: 0, counted: undefined });
    // A response has the socket only when its turn has come.
    if (pipeline === undefined || response.socket !== null) {
      if (pipeline !== undefined) pipeline.last = response;
      return serve();
    }
    const before = pipeline.last;
    pipeline.last = response;
    readBrake.press();
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
   * Counts a request until it is called back, or its connection has closed: not every version of Node.js closes the answers
   * that wait then. Undefined: there are too many.
   */
  #wait(pipeline: Pipeline, { socket, rawHeaders, url = '' }: IncomingMessage): (() => void) | undefined {
    const { lane } = pipeline.counted ?? { lane: laneOf(socket) };
    const bytes = pipeline.waiting < MAX_WAITING ? waitingHeads.enter(lane, [url, ...rawHeaders]) : undefined;
    if (bytes === undefined) return undefined;
    if (pipeline.counted === undefined) {
      pipeline.counted = { lane };
      socket.once('close', () => waitingHeads.leave(lane, pipeline.bytes));
    }
    pipeline.waiting++;
    pipeline.bytes += bytes;
    return () => {
      pipeline.waiting--;
      if (socket.destroyed) return;
      pipeline.bytes -= bytes;
      waitingHeads.leave(lane, bytes);
    };
  }
}
