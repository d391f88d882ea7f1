// A gRPC server on a unix socket that does with each call what it is told, and knows when it was called.
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { unlinkSync } from 'node:fs';
import { bytesOf, type PeerAnswer } from '../exchange.ts';

/** What to do with a call; undefined: the method is not implemented. May answer later, by itself. */
export type Behaviour = (path: string, stream: ServerHttp2Stream) => PeerAnswer | 'taken' | undefined;

export interface PeerServer {
  close(): void;
}

const GRPC = { ':status': 200, 'content-type': 'application/grpc' };

/** Whoever listened there before is gone. */
export async function servePeer(socketPath: string, behave: Behaviour): Promise<PeerServer> {
  const server: Http2Server = createServer();
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => undefined).on('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined); // The target ended the call.
    const answer = behave((headers[':path'] ?? '').slice(1), stream);
    if (answer === 'taken') return;
    if (answer === undefined) return void stream.respond({ ...GRPC, 'grpc-status': '12' }, { endStream: true });
    perform(stream, answer);
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socketPath, resolve));
  return {
    close() {
      server.close();
      for (const session of sessions) session.destroy();
      try {
        unlinkSync(socketPath);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error; // Node has removed it.
      }
    },
  };
}

/** Answers a call. */
export function perform(stream: ServerHttp2Stream, { how, data, trailers }: PeerAnswer): void {
  if (stream.destroyed || how === 'hang') return;
  if (how === 'reset') return stream.close(2);
  if (how === 'close') return stream.session?.destroy();
  if (how === 'page') {
    stream.respond({ ':status': 503, 'content-type': 'text/html' });
    return void stream.end(bytesOf(data));
  }
  stream.respond(GRPC, { waitForTrailers: true });
  stream.on('wantTrailers', () => {
    if (how === 'cut') stream.close(0);
    else stream.sendTrailers(Object.fromEntries(trailers));
  });
  stream.end(bytesOf(data));
}
