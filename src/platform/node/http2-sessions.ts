/**
 * The HTTP/2 connections of a server: ends those that nobody uses and finds those whose peer has gone. Node.js sees no end of
 * a connection that it does not read at that moment, and keeps a session that has a timeout of its own in memory for as long
 * after its end. Upstream: IdleTimeout of http2.Server, ReadIdleTimeout of its clients.
 */
import type { ServerHttp2Session } from 'node:http2';
import { endInTurns, type EndingSocket } from './end-in-turns.ts';

/** Upstream's. */
const IDLE_MS = 90_000;
const SWEEP_EVERY_MS = 30_000;

interface Use {
  readonly socket: SweptSocket;
  readonly streams: Set<SweptStream>;
  /** On the monotonic clock: when the last stream ended, or the connection was asked for a sign of life. */
  sinceMs: number;
}

/** What a sweep needs of a connection. */
export interface SweptSocket extends EndingSocket {
  destroy(): unknown;
  once(event: 'end', listener: () => void): unknown;
}

/** What ends with its connection. */
export interface SweptStream {
  once(event: 'close', listener: () => void): unknown;
  destroy(): unknown;
}

/** What a sweep needs of a session. */
export type SweptSession = Pick<
  ServerHttp2Session,
  'close' | 'destroy' | 'ping' | 'closed' | 'destroyed' | 'on' | 'once' | 'removeAllListeners'
>;

const ignore = (): void => undefined;

function endOf(session: SweptSession): void {
  if (session.closed) session.destroy();
  else session.close();
}

/** Holds sessions until they have closed. The sweep runs while there are any, and keeps no process alive. */
export class Http2Sessions<S extends SweptSession = ServerHttp2Session> {
  readonly #uses = new Map<S, Use>();
  #sweeping: NodeJS.Timeout | undefined;

  /**
   * Holds a session, and takes its listeners from it at its end. Node.js keeps a session that a protocol error ended for good
   * when a listener of it leads to its socket: the socket holds the error, the error's stack holds what owns the session.
   *
   * A peer that ends its side is gone, as in Go. Sockets of `http.createServer` stay half open, and Node.js lets no session see
   * that its writes fail: its streams would go on writing to nobody.
   */
  add(session: S, socket: SweptSocket, nowMs = performance.now()): void {
    const streams = new Set<SweptStream>();
    this.#uses.set(session, { socket, streams, sinceMs: nowMs });
    endInTurns(socket, streams);
    socket.once('end', () => socket.destroy());
    session.once('close', () => {
      this.#delete(session);
      session.removeAllListeners();
      session.on('error', ignore);
    });
    this.#sweeping ??= setInterval(() => this.sweep(), SWEEP_EVERY_MS).unref();
  }

  /** A stream of a session has begun. */
  began(session: S, stream: SweptStream): void {
    const use = this.#uses.get(session);
    if (use === undefined) return;
    use.streams.add(stream);
    stream.once('close', () => {
      use.streams.delete(stream);
      use.sinceMs = performance.now();
    });
  }

  /**
   * Closes what is idle, and destroys what has not closed by the next sweep: its peer does not take what is still to be sent.
   * A session that was destroyed meanwhile waits for that too, for ever when the peer has gone: its connection is destroyed.
   * What has streams is pinged: writing to a connection that is gone ends it, and its streams.
   */
  sweep(nowMs = performance.now()): void {
    for (const [session, use] of this.#uses) {
      if (session.destroyed) {
        use.socket.destroy();
        this.#delete(session);
      } else if (nowMs - use.sinceMs < IDLE_MS) continue;
      else if (use.streams.size === 0) endOf(session);
      else {
        use.sinceMs = nowMs;
        // False: ten pings have had no answer.
        if (!session.ping(() => undefined)) session.destroy();
      }
    }
  }

  close(): void {
    for (const session of this.#uses.keys()) session.close();
  }

  destroy(): void {
    for (const session of this.#uses.keys()) session.destroy();
  }

  #delete(session: S): void {
    this.#uses.delete(session);
    if (this.#uses.size > 0) return;
    clearInterval(this.#sweeping);
    this.#sweeping = undefined;
  }
}
