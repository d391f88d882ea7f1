/** The targets of gRPC calls: a unix socket or a TLS endpoint, and the HTTP/2 sessions to it. */
import { Http2SessionManager } from '@connectrpc/connect-node';
import { GrpcError } from './grpc-error.ts';

/** A server: a unix socket, or a URL (`http://` without TLS) watched by pings while calls are open. */
export type GrpcTarget =
  | { readonly socketPath: string }
  | { readonly url: string; readonly tls?: GrpcTls; readonly pingIntervalMs?: number; readonly pingTimeoutMs?: number };

/** PEM texts; `caPem` absent: the system's. */
export interface GrpcTls {
  readonly caPem?: string;
  readonly certPem?: string;
  readonly keyPem?: string;
}

/** How many unread bytes of one answer the server may send over TCP. */
const STREAM_WINDOW_BYTES = 4 * 1024 * 1024;

export function createSessions(target: GrpcTarget): Http2SessionManager {
  const idleConnectionTimeoutMs = 24 * 3_600_000;
  // http2.connect hands these to net.connect, where a path means a unix socket.
  if ('socketPath' in target)
    return new Http2SessionManager('http://localhost', { idleConnectionTimeoutMs }, {
      path: target.socketPath,
    } as object);
  const { url, tls, pingIntervalMs = 10_000, pingTimeoutMs = 5_000 } = target;
  const { caPem, certPem, keyPem } = tls ?? {};
  return new Http2SessionManager(
    url,
    { idleConnectionTimeoutMs, pingIntervalMs, pingTimeoutMs },
    {
      settings: { initialWindowSize: STREAM_WINDOW_BYTES },
      ca: caPem,
      cert: certPem,
      key: keyPem,
    },
  );
}

/** The longest path of a unix socket in Linux: 108 bytes with the one that ends it. */
const MAX_SOCKET_PATH_BYTES = 107;

/** The manager waits for ever, in a loop of microtasks, for a connection that Node.js refuses before it begins. */
export function checkTarget(target: GrpcTarget): void {
  if (!('socketPath' in target)) return;
  const { socketPath } = target;
  if (socketPath !== '' && !socketPath.includes('\0') && Buffer.byteLength(socketPath) <= MAX_SOCKET_PATH_BYTES) return;
  const path = JSON.stringify(socketPath.slice(0, 2 * MAX_SOCKET_PATH_BYTES));
  throw new GrpcError('Unavailable', `connect: invalid path of a unix socket: ${path}`, { sent: false });
}

export function unreachable(timeoutMs: number | undefined): GrpcError {
  return new GrpcError('DeadlineExceeded', `no connection within ${timeoutMs} ms`);
}
