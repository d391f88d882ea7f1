/** Misbehaviours of a gRPC server on a unix socket, for tests. */
import type { ServerHttp2Stream } from 'node:http2';
import { frame } from './grpc-frames.ts';

/** What a plugin may send on its socket in place of an answer. */
export const hostilePeers: Readonly<Record<string, (stream: ServerHttp2Stream) => void>> = {
  'promises four gigabytes and sends without end': (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
    stream.write(Buffer.from([0, 0xff, 0xff, 0xff, 0xff]));
    const more = (): void => {
      while (!stream.destroyed && stream.write(Buffer.alloc(64 * 1024)));
    };
    stream.on('drain', more).on('error', () => undefined);
    more();
  },
  'sends small messages without end': (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
    const messages = Buffer.alloc(5 * 10_000);
    const more = (): void => {
      while (!stream.destroyed && stream.write(messages));
    };
    stream.on('drain', more).on('error', () => undefined);
    more();
  },
  'sends garbage': (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' })).on('error', () => undefined);
    stream.end(Buffer.alloc(100, 0xee));
  },
  'breaks off in the middle of a message': (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' })).on('error', () => undefined);
    stream.end(Buffer.from([0, 0, 0, 0, 100, 1, 2, 3]));
  },
  'answers with two million values in 4 MB': (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' })).on('error', () => undefined);
    const values = Buffer.alloc(4_000_000);
    for (let at = 0; at < values.length; at += 2) values[at] = 0x0a;
    stream.end(frame(values));
  },
  'never answers': () => undefined,
  'resets the stream': (stream) => stream.close(2),
  'closes the connection': (stream) => stream.session?.destroy(),
  'answers with trailers alone that say nothing': (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { endStream: true });
  },
  'fails with megabytes of words': (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '13', 'grpc-message': '%'.repeat(60_000) }));
    stream.end();
  },
  'fails with a status that is none': (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '-1e9' }, { endStream: true });
  },
  'answers with a page': (stream) => {
    stream.respond({ ':status': 404, 'content-type': 'text/html' });
    stream.end('<html>');
  },
};
