/** gRPC's transport on a unix socket: HTTP/2 without TLS, by node:http2. */
import { unlink } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { ListenRpc, RpcCall } from '../rpc.ts';

/** See `ListenRpc`. */
export const listenRpc: ListenRpc = async (socketPath, handler) => {
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
  server.on('stream', (stream, headers) => void handler(callOf(stream, headers)).catch(() => stream.close()));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socketPath, () => {
      server.off('error', reject);
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
};

function callOf(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): RpcCall {
  const controller = new AbortController();
  let trailers: Readonly<Record<string, string>> = {};
  stream.on('error', () => undefined); // shows in the signal and the body
  stream.once('close', () => controller.abort(new Error('the call has ended')));
  const respond = (): void => {
    if (stream.headersSent || stream.destroyed) return;
    stream.once('wantTrailers', () => stream.sendTrailers(trailers));
    stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true });
  };
  return {
    path: String(headers[':path'] ?? ''),
    body: stream,
    signal: controller.signal,
    async write(bytes) {
      respond();
      if (stream.destroyed || stream.write(bytes)) return;
      await new Promise<void>((resolve) => stream.once('drain', resolve).once('close', resolve));
    },
    end(given) {
      trailers = given;
      respond();
      if (!stream.destroyed) stream.end();
    },
  };
}
