/**
 * Spreads the ends of connections over turns of the event loop. libuv closes all handles of a turn in one phase, in which Node.js
 * ends every stream of each: forty connections of 250 streams that end at one instant were a turn of 150 to 320 milliseconds.
 * The streams of a connection are ended first, some at a time, then the connection itself.
 *
 * A connection that waits for its end is destroyed for all who ask. Its end has a lane of its own, so that it comes before what
 * its client has left waiting.
 */
import { type LoopTurns, loopTurns } from './loop-turns.ts';

const LANE = 'connections that end';
/** Each costs up to 35 microseconds: that of a watch. */
const STREAMS_AT_ONCE = 32;

interface Ended {
  destroy(): unknown;
}

type OnEnd = (error?: Error | null) => void;

/** A stream of Node.js: `_destroy` is what `destroy` calls, once. */
export interface EndingSocket {
  _destroy?(error: Error | null, onEnd: OnEnd): void;
}

/** Holds for every way in which the connection is destroyed. `streams` are those that are open. */
export function endInTurns(
  socket: EndingSocket,
  streams: ReadonlySet<Ended> = new Set(),
  turns: Pick<LoopTurns, 'begin' | 'yield'> = loopTurns,
): void {
  const destroyNow = socket._destroy;
  if (destroyNow === undefined) return;
  socket._destroy = (error, onEnd) => {
    const end = (): void => destroyNow.call(socket, error, onEnd);
    const due = streams.size === 0 ? turns.begin(LANE) : endStreams([...streams], turns);
    if (due === undefined) end();
    else due.then(end).catch((thrown: unknown) => onEnd(thrown as Error));
  };
}

async function endStreams(streams: readonly Ended[], turns: Pick<LoopTurns, 'yield'>): Promise<void> {
  for (const [at, stream] of streams.entries()) {
    if (at % STREAMS_AT_ONCE === 0) await turns.yield(LANE);
    stream.destroy();
  }
  await turns.yield(LANE);
}
