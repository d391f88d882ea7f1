/**
 * HTTP/1.1 on a simulated connection, for those who dial a port and speak HTTP themselves (tunnelled upgrades). One request
 * per connection; the answer ends with it.
 */
import { resume } from './streams.ts';
import {
  BodyTooLargeError,
  type HttpHandler,
  type HttpHeaders,
  type HttpRequest,
  type PeerCertificate,
} from '../http.ts';
import type { Duplex } from '../streams.ts';

/** The other end of the connection. */
export interface DuplexPeer {
  readonly remoteAddress: string;
  readonly peerCertificate: PeerCertificate | undefined;
}

/** Reads one request from the connection and answers it. Never rejects: a client that disconnected gets no answer. */
export async function serveHttpOnDuplex(handler: HttpHandler, socket: Duplex, peer: DuplexPeer): Promise<void> {
  const controller = new AbortController();
  void socket.closed.then(() => controller.abort(new Error('the connection is closed')));
  try {
    const incoming = socket.incoming[Symbol.asyncIterator]();
    const { head, rest } = await readHead(incoming);
    const request = toRequest(head, { rest, incoming, peer, signal: controller.signal });
    const response = await handler(request);
    if (response.kind === 'upgrade') return await response.accept({ ...socket, incoming: resume(rest, incoming) });
    await socket.write(
      `HTTP/1.1 ${response.status} ${response.status === 200 ? 'OK' : 'Status'}\r\n${headerText(response.headers)}Connection: close\r\n\r\n`,
    );
    if (response.kind === 'bytes') for (const chunk of response.chunks) await socket.write(chunk);
    else await response.run({ write: (chunk) => socket.write(chunk), end: async () => undefined });
    await socket.end();
  } catch (error) {
    socket.destroy(error as Error);
  }
}

interface Wire {
  readonly rest: Uint8Array;
  readonly incoming: AsyncIterator<Uint8Array>;
  readonly peer: DuplexPeer;
  readonly signal: AbortSignal;
}

function toRequest(head: string, wire: Wire): HttpRequest {
  const [first = '', ...lines] = head.split('\r\n');
  const [method = '', target = ''] = first.split(' ');
  const headers: Record<string, string> = {};
  const apart = new Map<string, string[]>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
    apart.set(name, [...(apart.get(name) ?? []), value]);
  }
  const [path = '/', query = ''] = target.split(/\?(.*)/s);
  const length = Number(headers['content-length'] ?? 0);
  return {
    method,
    path,
    query,
    headers,
    headerLines: (name) => apart.get(name) ?? [],
    remoteAddress: wire.peer.remoteAddress,
    peerCertificate: wire.peer.peerCertificate,
    signal: wire.signal,
    wantsUpgrade: /(^|,)\s*upgrade\s*(,|$)/i.test(headers['connection'] ?? ''),
    async readBody(limitBytes) {
      if (length > limitBytes) throw new BodyTooLargeError(limitBytes);
      const chunks: Uint8Array[] = [];
      for await (const chunk of bodyOf(length, wire)) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
    bodyStream: () => bodyOf(length, wire),
  };
}

async function* bodyOf(length: number, { rest, incoming }: Wire): AsyncGenerator<Uint8Array> {
  let left = length;
  for await (const chunk of resume(rest, incoming)) {
    const part = chunk.subarray(0, left);
    left -= part.byteLength;
    if (part.byteLength > 0) yield part;
    if (left === 0) return;
  }
}

function headerText(headers: HttpHeaders): string {
  return Object.entries(headers)
    .flatMap(([name, value]) => [value].flat().map((line) => `${name}: ${line}\r\n`))
    .join('');
}

async function readHead(incoming: AsyncIterator<Uint8Array>): Promise<{ head: string; rest: Uint8Array }> {
  let received = Buffer.alloc(0);
  for (;;) {
    const end = received.indexOf('\r\n\r\n');
    if (end >= 0) return { head: received.subarray(0, end).toString('latin1'), rest: received.subarray(end + 4) };
    const next = await incoming.next();
    if (next.done) throw new Error('the connection ended before the head of a request');
    received = Buffer.concat([received, next.value]);
  }
}
