/**
 * The server side of HTTP/2 on a unix socket, as a gRPC server needs it: calls with a stream of bytes each way and trailers.
 * Messages and statuses are `grpc/`'s. A simulated machine has the sockets' names only: nothing in it dials them.
 */

export interface RpcCall {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly body: AsyncIterable<Uint8Array>;
  /** Aborts when the caller goes away or the server closes. */
  readonly signal: AbortSignal;
  /** Sends a piece of the answer; resolves when there is room for more. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends the answer. */
  end(trailers: Readonly<Record<string, string>>): void;
}

/** A server on a socket. */
export interface RpcServer {
  /** Breaks the calls that run, and removes the socket. */
  close(): Promise<void>;
}

/**
 * Serves calls on a unix socket; a socket that was left behind is replaced. The handler must not throw.
 * Rejects with Node's code (EACCES …).
 */
export type ListenRpc = (socketPath: string, handler: (call: RpcCall) => Promise<void>) => Promise<RpcServer>;
