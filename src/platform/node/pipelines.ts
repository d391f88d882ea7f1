/**
 * Requests that a client sends before it has its answers (HTTP/1.1 pipelining): served one after the other, each in a turn of
 * its own. Node would call the handler for all that one read brought, thousands, at once.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** More requests that wait on one connection end it. */
const MAX_WAITING = 1000;

interface Pipeline {
  last: ServerResponse;
  waiting: number;
}

export class Pipelines {
  readonly #bySocket = new WeakMap<Socket, Pipeline>();

  /** Serves at once where no answer is under way on the connection, else when the one before has gone out. */
  enter(socket: Socket, response: ServerResponse, serve: () => void): void {
    const pipeline = this.#bySocket.get(socket);
    if (pipeline === undefined) this.#bySocket.set(socket, { last: response, waiting: 0 });
    // A response has the socket only when its turn has come.
    if (pipeline === undefined || response.socket !== null) {
      if (pipeline !== undefined) pipeline.last = response;
      return serve();
    }
    const before = pipeline.last;
    pipeline.last = response;
    if (++pipeline.waiting > MAX_WAITING) {
      socket.destroy();
      return;
    }
    before.once('close', () =>
      setImmediate(() => {
        pipeline.waiting--;
        if (!socket.destroyed) serve();
      }),
    );
  }
}
