/** The first bytes of a connection, read before anybody serves it, and put back. */
import type { Socket } from 'node:net';
import type { Clock } from '../../platform/clock.ts';

/** What an HTTP/2 client with prior knowledge sends first (RFC 9113, 3.4). */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** True: HTTP/2. False: something else. Undefined: more bytes decide. */
export function beginsHttp2(bytes: Buffer): boolean | undefined {
  const length = Math.min(bytes.length, PREFACE.length);
  if (!bytes.subarray(0, length).equals(PREFACE.subarray(0, length))) return false;
  return length === PREFACE.length ? true : undefined;
}

/**
 * Calls back with what `decide` makes of the first bytes once it is no longer undefined; the socket gives the bytes again. A
 * client that sends too little in time is cut off.
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
    readonly decide: (bytes: Buffer, isEnd: boolean) => T | undefined;
  },
  callback: (decision: T) => void,
): void {
  let bytes: Buffer = Buffer.alloc(0);
  const stop = (): void => {
    cancel();
    socket.off('data', onData).off('end', onEnd).off('close', stop).off('error', onError);
  };
  const settle = (isEnd: boolean): void => {
    const decision = decide(bytes, isEnd);
    if (decision === undefined) {
      if (!isEnd) return;
      stop();
      socket.destroy();
      return;
    }
    stop();
    socket.pause();
    if (bytes.length > 0) socket.unshift(bytes);
    callback(decision);
  };
  const onData = (chunk: Buffer): void => {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    settle(false);
  };
  const onEnd = (): void => settle(true);
  const onError = (): void => {
    socket.destroy();
  };
  const cancel = clock.setTimer(limitMs, () => socket.destroy());
  socket.on('data', onData).on('end', onEnd).on('close', stop).on('error', onError);
}
