/**
 * The server side of HTTP/2 on a unix socket for gRPC: calls with a stream of bytes each way and trailers. `grpc/`
 * handles messages and statuses. A simulated machine has only the sockets' names: nothing dials them.
 */

export interface RpcCall {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly body: AsyncIterable<Uint8Array>;
  /** Aborts when the caller disconnects or the server closes. */
  readonly signal: AbortSignal;
  /** Sends a part of the response; resolves when there is room for more. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends the answer. */
  end(trailers: Readonly<Record<string, string>>): void;
}

/** A server on a socket. */
export interface RpcServer {
  /** Aborts running calls and removes the socket. */
  close(): Promise<void>;
}

/**
 * Serves calls on a unix socket, replacing one left behind. The handler must not throw. Rejects with Node's code
 * (EACCES …).
 */
export type ListenRpc = (socketPath: string, handler: (call: RpcCall) => Promise<void>) => Promise<RpcServer>;
