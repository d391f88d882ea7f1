/**
 * Exec into and attach to simulated containers: over SPDY, as API servers ask kubelets for it, and over WebSockets (remote
 * command v4 and v5, binary). What a command does, the image says; attached clients see the lines logged from then on. Input
 * is read and dropped; port-forward is not simulated. Upstream: the CRI streaming server.
 */
import type { HttpHandler, HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { Duplex } from '../../platform/streams.ts';
import { serveSpdy, type RequestedStreams } from './sim-spdy.ts';

/** Takes what a command or container writes. */
export type WriteOutput = (stream: 'stdout' | 'stderr', text: string) => Promise<void>;

/** A command or an attachment that was asked for and not yet fetched. */
export interface PendingStream extends RequestedStreams {
  /** Runs it; takes as long as it takes. Resolves to the exit code. */
  run(write: WriteOutput): Promise<number>;
}

const KEY_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
const SPDY_PROTOCOL = 'v4.channel.k8s.io';
const CHANNEL = { stdout: 1, stderr: 2, error: 3 } as const;

/** The handler of the streaming port; `take` finds, and removes, what a token stands for. */
export function createSimStreaming(
  take: (token: string) => PendingStream | undefined,
  crypto: CryptoPort,
): HttpHandler {
  return async (request): Promise<HttpResponse> => {
    const pending = take(request.path.split('/').at(-1) ?? '');
    if (pending === undefined) return text(404, 'no such stream\n');
    if (request.wantsUpgrade && request.headers['upgrade']?.toLowerCase() === 'spdy/3.1')
      return { kind: 'upgrade', accept: (socket) => serveOverSpdy(socket, pending) };
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
    const protocol = PROTOCOLS.find((name) => offered.includes(name));
    const key = request.headers['sec-websocket-key'];
    if (protocol === undefined || key === undefined || !request.wantsUpgrade)
      return text(400, 'simulated containers speak SPDY/3.1 and WebSockets (v5.channel.k8s.io) alone\n');
    const accept = await acceptKey(key, crypto);
    return { kind: 'upgrade', accept: (socket) => serve(socket, { pending, protocol, accept, request }) };
  };
}

function text(status: number, body: string): HttpResponse {
  return {
    kind: 'bytes',
    status,
    headers: { 'content-type': 'text/plain', 'content-length': String(body.length) },
    chunks: [Buffer.from(body)],
  };
}

async function acceptKey(key: string, crypto: CryptoPort): Promise<string> {
  return Buffer.from(await crypto.webcrypto.subtle.digest('SHA-1', Buffer.from(key + KEY_SUFFIX))).toString('base64');
}

async function serveOverSpdy(socket: Duplex, pending: PendingStream): Promise<void> {
  await socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\nX-Stream-Protocol-Version: ${SPDY_PROTOCOL}\r\n\r\n`,
  );
  await serveSpdy(socket, pending, async ({ write }) => {
    const exitCode = await pending.run((stream, data) => write(stream, data));
    await write('error', JSON.stringify(statusOf(exitCode)));
  });
}

interface Session {
  readonly pending: PendingStream;
  readonly protocol: string;
  readonly accept: string;
  readonly request: HttpRequest;
}

async function serve(socket: Duplex, { pending, protocol, accept }: Session): Promise<void> {
  await socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`,
  );
  const reading = drain(socket);
  const exitCode = await pending.run(async (stream, data) => {
    if (pending[stream] && data !== '') await socket.write(channelFrame(CHANNEL[stream], data));
  });
  await socket.write(channelFrame(CHANNEL.error, JSON.stringify(statusOf(exitCode))));
  await socket.write(frame(0x8, Buffer.from([0x03, 0xe8]))); // Close, 1000.
  await socket.end();
  await reading;
}

/** The client's frames must be read for its end to be seen. */
async function drain(socket: Duplex): Promise<void> {
  try {
    for await (const _ of socket.incoming);
  } catch {
    // The client broke off.
  }
}

function statusOf(exitCode: number): object {
  if (exitCode === 0) return { metadata: {}, status: 'Success' };
  return {
    metadata: {},
    status: 'Failure',
    reason: 'NonZeroExitCode',
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
  };
}

function channelFrame(channel: number, data: string): Uint8Array {
  return frame(0x2, Buffer.concat([Buffer.from([channel]), Buffer.from(data)]));
}

/** One unfragmented frame of a server: unmasked. */
function frame(opcode: number, payload: Buffer): Uint8Array {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = 0x80 | opcode;
  if (length < 126) head[1] = length;
  else if (length < 65_536) {
    head[1] = 126;
    head.writeUInt16BE(length, 2);
  } else {
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  return Buffer.concat([head, payload]);
}
