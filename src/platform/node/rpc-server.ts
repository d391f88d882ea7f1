/** gRPC's transport on a unix socket: HTTP/2 without TLS, by node:http2. */
import { unlink } from 'node:fs/promises';
import {
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Log } from '../log.ts';
import type { ListenRpc, RpcCall, RpcServer } from '../rpc.ts';
import { background } from '../unexpected.ts';

/** See `ListenRpc`. An exception of a handler ends only its call. */
export function createListenRpc(log: Log): ListenRpc {
  return (socketPath, handler) => listenRpc({ socketPath, log }, handler);
}

async function listenRpc(
  { socketPath, log }: { socketPath: string; log: Log },
  handler: (call: RpcCall) => Promise<void>,
): Promise<RpcServer> {
  await unlink(socketPath).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  const server = createServer();
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
    session.on('error', () => undefined); // its streams end with it
  });
  const answer = async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> => {
    try {
      await handler(callOf(stream, headers));
    } catch (error) {
      log.unexpected('a call could not be answered', error, { path: headers[':path'] });
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    }
  };
  server.on('stream', (stream, headers) => background(log, 'a call could not be answered', answer(stream, headers)));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socketPath, () => {
      server.off('error', reject);
      server.on('error', (error) => log.unexpected('a listening socket failed', error));
      resolve();
    });
  });
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const session of sessions) session.destroy();
      }),
  };
}

function callOf(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): RpcCall {
  const controller = new AbortController();
  let trailers: Readonly<Record<string, string>> = {};
  stream.on('error', () => undefined); // reported by the signal and the body
  stream.once('close', () => controller.abort(new Error('the call has ended')));
  const respond = (): void => {
    if (stream.headersSent || stream.destroyed) return;
    stream.once('wantTrailers', () => {
      try {
        stream.sendTrailers(trailers);
      } catch (error) {
        stream.destroy(error as Error);
      }
    });
    stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true });
  };
  return {
    path: String(headers[':path'] ?? ''),
    // A caller that stops reading must still get a response.
    body: stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>,
    signal: controller.signal,
    async write(bytes) {
      respond();
      if (stream.destroyed || stream.write(bytes)) return;
      await new Promise<void>((resolve) => stream.once('drain', resolve).once('close', resolve));
    },
    end(reason) {
      trailers = reason;
      respond();
      if (stream.destroyed) return;
      stream.end();
      // A caller that is still sending would wait forever. Resetting its stream may overtake the trailers. The reader
      // of the body stops in the next turn at the latest.
      setImmediate(() => stream.resume());
    },
  };
}
