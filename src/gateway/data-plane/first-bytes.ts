/** Reads the first bytes of a connection before its protocol is chosen, and puts them back. */
import type { Socket } from 'node:net';
import type { Clock } from '../../platform/clock.ts';

/** The first bytes of an HTTP/2 client with prior knowledge (RFC 9113, 3.4). */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Returns true for HTTP/2, false for another protocol, undefined when more bytes are needed. */
export function http2Detector(): (chunk: Buffer) => boolean | undefined {
  let matched = 0;
  return (chunk) => {
    const length = Math.min(chunk.length, PREFACE.length - matched);
    if (!chunk.subarray(0, length).equals(PREFACE.subarray(matched, matched + length))) return false;
    matched += length;
    return matched === PREFACE.length ? true : undefined;
  };
}

/**
 * Calls `callback` with the result of `decide` on the first bytes once that is defined; the socket then yields the bytes again.
 * `decide` receives each chunk once. A client that ends early or sends too little in time is disconnected.
 */
export function withFirstBytes<T>(
  socket: Socket,
  {
    clock,
    limitMs,
    decide,
  }: {
    readonly clock: Clock;
    readonly limitMs: number;
    readonly decide: (chunk: Buffer) => T | undefined;
  },
  callback: (decision: T) => void,
): void {
  const chunks: Buffer[] = [];
  const stop = (): void => {
    cancel();
    socket.off('data', onData).off('end', onEnd).off('close', stop).off('error', onError);
  };
  const onData = (chunk: Buffer): void => {
    chunks.push(chunk);
    const decision = decide(chunk);
    if (decision === undefined) return;
    stop();
    socket.pause();
    socket.unshift(Buffer.concat(chunks));
    callback(decision);
  };
  const onEnd = (): void => {
    stop();
    socket.destroy();
  };
  const onError = (): void => {
    socket.destroy();
  };
  const cancel = clock.setTimer(limitMs, () => socket.destroy());
  socket.on('data', onData).on('end', onEnd).on('close', stop).on('error', onError);
  socket.resume();
}
