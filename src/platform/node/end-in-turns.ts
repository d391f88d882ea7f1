/**
 * Spreads the closing of connections over turns of the event loop. libuv closes all handles of a turn in one phase,
 * in which Node.js ends every stream of each: forty connections of 250 streams that closed at once blocked the loop
 * for 150 to 320 milliseconds. The streams of a connection are ended first, a few at a time, then the connection
 * itself.
 *
 * A connection that waits for its end counts as destroyed for everybody. Its end has a flow of its own, so that it
 * comes before its client's waiting work. It is no longer read, since Node.js throws when data arrives for a
 * destroyed socket. Therefore only connections wait whose session still reads, because it has streams; all others end
 * at once.
 */
import { constants } from 'node:http2';
import { type LoopTurns, loopTurns } from './loop-turns.ts';

const FLOW = 'connections that end';
/** Each costs up to 35 microseconds: that of a watch. */
const STREAMS_AT_ONCE = 32;

interface DestroyableStream {
  destroy(): unknown;
}

type OnEnd = (error?: Error | null) => void;

/** The handle that Node.js keeps in a socket, without a public API. */
interface Handle {
  reading?: boolean;
  onread?: unknown;
  readStop(): unknown;
}

/** A stream of Node.js: `_destroy` is what `destroy` calls, once. */
export interface EndingSocket {
  readonly destroyed?: boolean;
  destroy(): unknown;
  _destroy?(error: Error | null, onEnd: OnEnd): void;
}

/** The HTTP/2 session of a connection. */
export interface EndingSession {
  destroy(error?: Error | number, code?: number): void;
  goaway(code: number): void;
  once(event: 'close', listener: () => void): unknown;
}

/** Covers every way in which the connection or its session is destroyed. `streams` are the open ones. */
export function endInTurns(
  { session, socket }: { readonly session: EndingSession; readonly socket: EndingSocket },
  streams: ReadonlySet<DestroyableStream>,
  turns: Pick<LoopTurns, 'yield'> = loopTurns,
): void {
  endByConnection(session, socket, streams);
  const destroyNow = socket._destroy;
  if (destroyNow === undefined) return;
  socket._destroy = (error, onEnd) => {
    const end = (): void => destroyNow.call(socket, error, onEnd);
    if (streams.size === 0) return end();
    stopReading(socket);
    endStreams([...streams], turns)
      .then(end)
      .catch((thrown: unknown) => onEnd(thrown as Error));
  };
}

/**
 * Node.js destroys a session where its client breaks the protocol, or leaves with an error, and all its streams in that turn.
 * Here the client gets the reason, and the connection is destroyed instead: the session ends with it. What the session is left with
 * at its end leads to no socket, which would keep both in memory.
 */
function endByConnection(session: EndingSession, socket: EndingSocket, streams: ReadonlySet<DestroyableStream>): void {
  const destroyNow = session.destroy;
  session.destroy = (error, code) => {
    if (streams.size === 0) return destroyNow.call(session, error, code);
    if (socket.destroyed === true) return;
    session.goaway(code ?? (error === undefined ? constants.NGHTTP2_NO_ERROR : constants.NGHTTP2_INTERNAL_ERROR));
    socket.destroy();
  };
  session.once('close', () => (session.destroy = destroyNow));
}

/** Stops reading for good: the rest of the session does not reach the socket. */
function stopReading(socket: EndingSocket): void {
  const { _handle: handle } = socket as { readonly _handle?: Handle | null };
  if (handle === undefined || handle === null) return;
  handle.reading = false;
  handle.onread = () => undefined;
  handle.readStop();
}

async function endStreams(streams: readonly DestroyableStream[], turns: Pick<LoopTurns, 'yield'>): Promise<void> {
  for (const [at, stream] of streams.entries()) {
    if (at % STREAMS_AT_ONCE === 0) await turns.yield(FLOW);
    stream.destroy();
  }
  await turns.yield(FLOW);
}
