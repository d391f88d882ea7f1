/** A gRPC server in place of etcd: each call gets an answer that a test chooses. For tests. */
import { once } from 'node:events';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { frame } from '../../grpc/grpc-frames.ts';
import { createMessageCodec } from '../../grpc/message-codec.ts';
import { type EtcdMember, ETCD_TABLE, mvccTable } from './etcd-table.ts';

/** gRPC's status and message; status 0 has an answer that lists these members, or is empty. */
export interface Spoken {
  readonly status: number;
  readonly message?: string;
  readonly members?: readonly EtcdMember[];
}

/** Serves on loopback without TLS; `answer` receives the path, e.g. `/etcdserverpb.Cluster/MemberList`. */
export async function startSpokenEtcd(
  answer: (path: string) => Spoken,
): Promise<{ readonly url: string; stop(): void }> {
  const server = createServer();
  const codec = createMessageCodec([mvccTable, ETCD_TABLE]);
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => void sessions.add(session));
  server.on('stream', (stream, headers) => {
    const { status, message = '', members = [] } = answer(String(headers[':path']));
    const trailers = { 'grpc-status': String(status), 'grpc-message': message };
    const opening = { ':status': 200, 'content-type': 'application/grpc+proto' };
    if (status !== 0) return stream.respond({ ...opening, ...trailers }, { endStream: true });
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.respond(opening, { waitForTrailers: true });
    stream.end(frame(codec.encode('etcdserverpb.MembersResponse', { members })));
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
