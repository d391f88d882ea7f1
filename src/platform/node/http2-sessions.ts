/**
 * The HTTP/2 connections of a server: closes idle ones and detects vanished peers. Node.js does not notice the end of
 * a connection that it is not reading, and keeps a session with a timeout of its own in memory until that is over.
 * Upstream: IdleTimeout of http2.Server, ReadIdleTimeout of its clients.
 */
import type { ServerHttp2Session } from 'node:http2';
import { endInTurns, type EndingSocket } from './end-in-turns.ts';

/** Upstream's. */
const IDLE_MS = 90_000;
const SWEEP_EVERY_MS = 30_000;

interface SessionUse {
  readonly socket: SweptSocket;
  readonly streams: Set<SweptStream>;
  /** On the monotonic clock: when the last stream ended, or the connection was last pinged. */
  sinceMs: number;
}

/** The parts of a connection that a sweep uses. */
export interface SweptSocket extends EndingSocket {
  destroy(): unknown;
  once(event: 'end', listener: () => void): unknown;
}

/** A stream, which ends with its connection. */
export interface SweptStream {
  once(event: 'close', listener: () => void): unknown;
  destroy(): unknown;
}

/** The parts of a session that a sweep uses. */
export type SweptSession = Pick<
  ServerHttp2Session,
  'close' | 'destroy' | 'goaway' | 'ping' | 'closed' | 'destroyed' | 'on' | 'once' | 'removeAllListeners'
>;

const ignore = (): void => undefined;

function endOf(session: SweptSession): void {
  if (session.closed) session.destroy();
  else session.close();
}

/** Keeps sessions until they have closed. The sweep runs while there are any, and keeps no process alive. */
export class Http2Sessions<S extends SweptSession = ServerHttp2Session> {
  readonly #uses = new Map<S, SessionUse>();
  #sweeping: NodeJS.Timeout | undefined;

  /**
   * Adds a session, and removes its listeners at its end. Node.js leaks a session ended by a protocol error when one
   * of its listeners references its socket: the socket holds the error, and the error's stack holds the owner of the
   * session.
   *
   * A peer that ends its side counts as disconnected, as in Go. Sockets of `http.createServer` stay half open, and
   * Node.js hides failing writes from sessions, whose streams would continue writing.
   */
  add(session: S, socket: SweptSocket, nowMs = performance.now()): void {
    const streams = new Set<SweptStream>();
    this.#uses.set(session, { socket, streams, sinceMs: nowMs });
    endInTurns({ session, socket }, streams);
    socket.once('end', () => socket.destroy());
    session.once('close', () => {
      this.#delete(session);
      session.removeAllListeners();
      session.on('error', ignore);
    });
    this.#sweeping ??= setInterval(() => this.sweep(), SWEEP_EVERY_MS).unref();
  }

  /** Records a new stream of a session. */
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
   * Closes idle sessions, and destroys those that have not closed by the next sweep because their peer does not read.
   * A destroyed session waits for that too, forever when the peer has vanished: its connection is destroyed. Sessions
   * with streams are pinged, since writing to a dead connection ends it.
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
        // False: ten pings were not answered.
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
