// A gRPC server on a unix socket that responds to each call as instructed, and records its calls.
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { unlinkSync } from 'node:fs';
import { bytesOf, type PeerAnswer } from '../exchange.ts';

/** The response to a call; undefined when the method is not implemented. `'taken'` responds later itself. */
export type Behaviour = (path: string, stream: ServerHttp2Stream) => PeerAnswer | 'taken' | undefined;

export interface PeerServer {
  close(): void;
}

const GRPC = { ':status': 200, 'content-type': 'application/grpc' };

/** Replaces an earlier listener on the path. */
export async function servePeer(socketPath: string, behave: Behaviour): Promise<PeerServer> {
  const server: Http2Server = createServer();
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => undefined).on('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined); // the target ended the call
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
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error; // Node has removed it
      }
    },
  };
}

/** Responds to a call. */
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
