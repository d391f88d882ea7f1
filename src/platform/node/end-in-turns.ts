/**
 * Spreads the ends of connections over turns of the event loop. libuv closes all handles of a turn in one phase, in which Node.js
 * ends every stream of each: forty connections of 250 streams that end at one instant were a turn of 150 to 320 milliseconds.
 * The streams of a connection are ended first, some at a time, then the connection itself.
 *
 * A connection that waits for its end is destroyed for all who ask. Its end has a lane of its own, so that it comes before what
 * its client has left waiting. Nothing is read of it: Node.js throws where data comes for a socket that is destroyed, which it
 * expects to be closed. So only those wait whose session still reads by itself, since it has streams; all others end at once.
 */
import { type LoopTurns, loopTurns } from './loop-turns.ts';

const LANE = 'connections that end';
/** Each costs up to 35 microseconds: that of a watch. */
const STREAMS_AT_ONCE = 32;

interface Ended {
  destroy(): unknown;
}

type OnEnd = (error?: Error | null) => void;

/** What Node.js keeps at a socket, without a public way. */
interface Handle {
  reading?: boolean;
  onread?: unknown;
  readStop(): unknown;
}

/** A stream of Node.js: `_destroy` is what `destroy` calls, once. */
export interface EndingSocket {
  _destroy?(error: Error | null, onEnd: OnEnd): void;
}

/**
 * Holds for every way in which the connection of a session is destroyed, not where Node.js destroys the session itself, as after a
 * frame that breaks the protocol. `streams` are those that are open.
 */
export function endInTurns(
  socket: EndingSocket,
  streams: ReadonlySet<Ended>,
  turns: Pick<LoopTurns, 'yield'> = loopTurns,
): void {
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

/** For good: what the session leaves is not told to the socket. */
function stopReading(socket: EndingSocket): void {
  const { _handle: handle } = socket as { readonly _handle?: Handle | null };
  if (handle === undefined || handle === null) return;
  handle.reading = false;
  handle.onread = () => undefined;
  handle.readStop();
}

async function endStreams(streams: readonly Ended[], turns: Pick<LoopTurns, 'yield'>): Promise<void> {
  for (const [at, stream] of streams.entries()) {
    if (at % STREAMS_AT_ONCE === 0) await turns.yield(LANE);
    stream.destroy();
  }
  await turns.yield(LANE);
}
