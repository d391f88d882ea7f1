/**
 * Begins requests in turns of the event loop, the flows of clients taking turns. While requests wait, their connections
 * are read less, and their heads are counted.
 */
import { constants } from 'node:http2';
import { loopTurns } from './loop-turns.ts';
import { readThrottle } from './read-throttle.ts';
import { waitingHeads } from './waiting-heads.ts';

/** Undefined when the request may begin at once. */
export function requestTurn(flow: string | undefined): Promise<void> | undefined {
  const due = loopTurns.begin(flow);
  if (due !== undefined) readThrottle.reportWaiting();
  return due;
}

/** The parts of a stream that waits. */
export interface WaitingStream {
  readonly destroyed: boolean;
  /** Whether its client has reset it. */
  readonly closed: boolean;
  close(code: number): void;
}

/**
 * Serves a stream when `due` resolves, unless it has ended by then. Undefined when too much waits: the stream is refused, and its
 * client may retry, by RFC 9113 8.7. @param lines names and values of its head
 */
export function serveInTurn(
  stream: WaitingStream,
  {
    flow,
    lines,
    due,
  }: { readonly flow: string | undefined; readonly lines: readonly string[]; readonly due: Promise<void> },
  serve: () => void,
): Promise<void> | undefined {
  const bytes = waitingHeads.enter(flow, lines);
  if (bytes === undefined) {
    stream.close(constants.NGHTTP2_REFUSED_STREAM);
    return undefined;
  }
  return due.then(() => {
    waitingHeads.leave(flow, bytes);
    if (!stream.destroyed && !stream.closed) serve();
  });
}
