/**
 * Port-forward to the HTTP servers of simulated containers: over SPDY (which API servers use towards kubelets), over SPDY in a
 * WebSocket (which kubectl tries first) and over a WebSocket's channels (other clients). One request per connection, as
 * everywhere on the simulated network. Upstream: the CRI streaming server's port-forward.
 */
import { Channel } from '../../base/channel.ts';
import type { FramePace } from '../../base/frame-input.ts';
import { acceptHead } from '../../base/websocket-frames.ts';
import { byChannel } from '../../base/websocket-channels.ts';
import type { MessagePiece } from '../../base/websocket-reader.ts';
import type { InflateRaw } from '../../platform/compression.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { Duplex } from '../../platform/streams.ts';
import { createHeaderReader } from '../spdy-headers.ts';
import { handleFrames, streamData, synReply } from './sim-spdy.ts';
import { binaryMessage, channelMessage, closeMessage, readData } from './sim-websocket.ts';

/** A port-forward with a URL that no client has opened. */
export interface PendingForward {
  /** Serves a connection to a port of the pod until its end; undefined when no server listens there. */
  serve(port: number, socket: Duplex): Promise<void> | undefined;
  /** The ports in the request: clients of WebSocket channels name all. */
  readonly ports: readonly number[];
}

const SPDY_PROTOCOL = 'portforward.k8s.io';
const TUNNEL_PROTOCOL = 'SPDY/3.1+portforward.k8s.io';
const CHANNEL_PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io', 'portforward.k8s.io'];

/** For WebSockets and for the headers of SPDY. */
export interface StreamingDeps {
  readonly crypto: CryptoPort;
  readonly inflate: InflateRaw;
  readonly pace: FramePace;
}

/** Accepts the upgrade of a port-forward; undefined for an unknown protocol. */
export async function acceptForward(
  request: HttpRequest,
  pending: PendingForward,
  deps: StreamingDeps,
): Promise<HttpResponse | undefined> {
  if (!request.wantsUpgrade) return undefined;
  if (request.headers['upgrade']?.toLowerCase() === 'spdy/3.1') {
    const head = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\nX-Stream-Protocol-Version: ${SPDY_PROTOCOL}\r\n\r\n`;
    return {
      kind: 'upgrade',
      accept: (socket) => socket.write(head).then(() => serveStreams(socket, pending, deps)),
    };
  }
  const key = request.headers['sec-websocket-key'];
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  const protocol = [TUNNEL_PROTOCOL, ...CHANNEL_PROTOCOLS].find((name) => offered.includes(name));
  if (key === undefined || protocol === undefined) return undefined;
  const head = await acceptHead({ key, protocol }, deps.crypto.webcrypto);
  const serve = protocol === TUNNEL_PROTOCOL ? serveTunnel : serveChannels;
  return { kind: 'upgrade', accept: (socket) => socket.write(head).then(() => serve(socket, pending, deps)) };
}

/** One connection to a port. */
interface Connection {
  /** Passes the client's bytes to the server. */
  receive(chunk: Uint8Array): void;
  /** The client has ended its side. */
  end(): void;
  /** The client has disconnected. */
  abort(): void;
}

/** Writes to the client of one connection. */
interface ClientWriter {
  send(chunk: Uint8Array): Promise<void>;
  /** Ends the connection. `problem`: why the server could not be reached; '' otherwise. */
  finish(problem: string): Promise<void>;
}

function connect(pending: PendingForward, port: number, { send, finish }: ClientWriter): Connection {
  const incoming = new Channel<Uint8Array>();
  const closed = Promise.withResolvers<void>();
  let hasServerEnded = false;
  const close = (): void => {
    incoming.close();
    closed.resolve();
  };
  const socket: Duplex = {
    incoming,
    write: (chunk) => send(Buffer.from(chunk as Uint8Array)),
    async end() {
      hasServerEnded = true;
      if (incoming.closed) closed.resolve();
    },
    destroy: close,
    closed: closed.promise,
  };
  const problem = `failed to connect to localhost:${port} inside the pod: dial tcp4 127.0.0.1:${port}: connect: connection refused`;
  const serving = pending.serve(port, socket)?.then(() => '') ?? Promise.resolve(problem);
  // A client that disconnected gets no error.
  serving.then(finish).catch(() => undefined);
  return {
    receive: (chunk) => void incoming.trySend(chunk),
    end() {
      incoming.close();
      if (hasServerEnded) closed.resolve();
    },
    abort: close,
  };
}

/** Clients open streams in pairs with one request id: the error stream, then the data stream. */
async function serveStreams(socket: Duplex, pending: PendingForward, { inflate, pace }: StreamingDeps): Promise<void> {
  const readHeaders = createHeaderReader(inflate);
  const errorStreams = new Map<string, number>();
  const connections = new Map<number, Connection>();
  let isFirst = true;
  const frames = handleFrames(socket, pace, {
    async onStream(id, block) {
      const headers = readHeaders(block);
      const requestId = headers.get('requestid') ?? '';
      await socket.write(synReply(id, isFirst));
      isFirst = false;
      if (headers.get('streamtype') === 'error') {
        errorStreams.set(requestId, id);
        return;
      }
      const errorId = errorStreams.get(requestId);
      errorStreams.delete(requestId);
      const client: ClientWriter = {
        send: (chunk) => socket.write(streamData(id, chunk, false)),
        async finish(problem) {
          connections.delete(id);
          await socket.write(streamData(id, new Uint8Array(), true));
          if (errorId !== undefined) await socket.write(streamData(errorId, Buffer.from(problem), true));
        },
      };
      connections.set(id, connect(pending, Number(headers.get('port')), client));
    },
    async onData(id, chunk, last) {
      const connection = connections.get(id);
      if (chunk.byteLength > 0) connection?.receive(Buffer.from(chunk));
      if (last) connection?.end();
    },
  });
  await frames.finally(() => connections.forEach((connection) => connection.abort()));
  await socket.end();
}

/** SPDY inside the messages of a WebSocket. */
async function serveTunnel(socket: Duplex, pending: PendingForward, deps: StreamingDeps): Promise<void> {
  const inner: Duplex = {
    ...socket,
    incoming: payloadsOf(readData(socket.incoming, deps.pace)),
    write: (chunk) => socket.write(binaryMessage(Buffer.from(chunk as Uint8Array))),
    async end() {
      await socket.write(closeMessage());
      await socket.end();
    },
  };
  await serveStreams(inner, pending, deps);
}

async function* payloadsOf(pieces: AsyncIterable<MessagePiece>): AsyncGenerator<Uint8Array> {
  for await (const { payload } of pieces) yield payload;
}

/** Two channels for each port: data and errors. The first message of each is the port's number. */
async function serveChannels(socket: Duplex, pending: PendingForward, { pace }: StreamingDeps): Promise<void> {
  const connections = new Map<number, Connection>();
  for (const [index, port] of pending.ports.entries()) {
    const [bytes, errors] = [2 * index, 2 * index + 1];
    for (const channel of [bytes, errors])
      await socket.write(channelMessage(channel, Buffer.from([port & 255, port >> 8])));
    const client: ClientWriter = {
      send: (chunk) => socket.write(channelMessage(bytes, chunk)),
      async finish(problem) {
        connections.delete(bytes);
        if (problem !== '') await socket.write(channelMessage(errors, Buffer.from(problem)));
        if (connections.size > 0) return;
        await socket.write(closeMessage());
        await socket.end();
      },
    };
    connections.set(bytes, connect(pending, port, client));
  }
  try {
    for await (const { channel, data } of byChannel(readData(socket.incoming, pace)))
      connections.get(channel)?.receive(data);
  } finally {
    for (const connection of connections.values()) connection.abort();
  }
}
