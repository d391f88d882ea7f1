/** One gRPC call on its HTTP/2 stream: sends the requests and follows the call to its end. */
import type { Http2SessionManager } from '@connectrpc/connect-node';
import { onAbort } from '../base/abort.ts';
import type { Clock } from '../platform/clock.ts';
import type { GrpcCallOptions } from './call-options.ts';
import { GrpcError } from './grpc-error.ts';
import { brokenCall, callStatus } from './grpc-headers.ts';

export type Http2Stream = Awaited<ReturnType<Http2SessionManager['request']>>;

/** HTTP/2's error code CANCEL. */
export const CANCEL = 8;

/**
 * The manager stops listening to a connection that ends; the error of one that the server was closing at that moment comes
 * after and would end the process.
 */
export function ignoreLateErrors({ session }: Http2Stream): void {
  if (session === undefined || session.listeners('error').includes(ignoreError)) return;
  session.on('error', ignoreError);
}

function ignoreError(): void {
  // The calls under way report the error.
}

/** Sends the requests and ends the sending side. An error of the requests destroys the stream. */
export async function send(
  stream: Http2Stream,
  requests: object | AsyncIterable<object>,
  encode: (request: object) => Uint8Array,
): Promise<void> {
  try {
    if (!isAsyncIterable(requests)) {
      stream.end(encode(requests));
      return;
    }
    for await (const request of requests) {
      if (stream.destroyed) return;
      if (!stream.write(encode(request))) await drained(stream);
    }
    stream.end();
  } catch (error) {
    stream.destroy(error as Error);
  }
}

/**
 * Resolves when more can be written or the stream is closed. Leaves no listener behind, since a long call waits many
 * times.
 */
function drained(stream: Http2Stream): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
}

interface FollowedCall {
  readonly stream: Http2Stream;
  /** Resolves when the runtime has said OK, rejects with its error, the abort's reason or the deadline. */
  readonly done: Promise<void>;
  /** Ends the call with this error. */
  end(reason: GrpcError): void;
}

/** Watches a call to its end: status, abort, deadline. */
export function followCall(
  stream: Http2Stream,
  { clock, signal, timeoutMs }: GrpcCallOptions & { readonly clock: Clock },
): FollowedCall {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let status: ReturnType<typeof callStatus>;
  let failure: unknown;
  const end = (reason: unknown): void => {
    failure ??= reason;
    stream.close(CANCEL);
    reject(reason);
  };
  const leave = (): void => end(signal?.reason);
  const stopTimer = !timeoutMs
    ? undefined
    : clock.setTimer(timeoutMs, () => end(new GrpcError('DeadlineExceeded', 'context deadline exceeded')));
  const unhook = onAbort(signal, leave);
  stream
    .on('response', (headers) => (status = callStatus(headers)))
    .on('trailers', (headers) => (status = callStatus(headers) ?? status))
    .on('error', (error) => (failure ??= error))
    .on('close', () => {
      stopTimer?.();
      unhook();
      if (status === 'OK') resolve();
      else reject(status ?? (failure === signal?.reason && signal?.aborted ? failure : brokenCall(failure)));
    });
  if (signal?.aborted === true) leave();
  return { stream, done: promise, end };
}

function isAsyncIterable(value: object): value is AsyncIterable<object> {
  return Symbol.asyncIterator in value;
}
