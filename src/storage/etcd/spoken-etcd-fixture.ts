/** What an etcd says, without an etcd: each call gets the answer a test chooses. For tests. */
import { once } from 'node:events';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';

/** gRPC's status and message; status 0 comes with an empty answer. */
export interface Spoken {
  readonly status: number;
  readonly message?: string;
}

/** Serves on loopback without TLS; `answer` gets the path, e.g. `/etcdserverpb.Cluster/MemberList`. */
export async function startSpokenEtcd(
  answer: (path: string) => Spoken,
): Promise<{ readonly url: string; stop(): void }> {
  const server = createServer();
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => void sessions.add(session));
  server.on('stream', (stream, headers) => {
    const { status, message = '' } = answer(String(headers[':path']));
    const trailers = { 'grpc-status': String(status), 'grpc-message': message };
    const opening = { ':status': 200, 'content-type': 'application/grpc+proto' };
    if (status !== 0) return stream.respond({ ...opening, ...trailers }, { endStream: true });
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.respond(opening, { waitForTrailers: true });
    stream.end(new Uint8Array(5));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop() {
      for (const session of sessions) session.destroy();
      server.close();
    },
  };
}
