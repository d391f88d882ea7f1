/**
 * Exec into simulated containers over WebSockets, as kubectl and client libraries speak it: remote command protocols v4 and
 * v5 (`v5.channel.k8s.io`), binary. What the command does, the image says. Input is read and dropped; attach and
 * port-forward are not simulated. Upstream: the CRI streaming server.
 */
import type { HttpHandler, HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { Duplex } from '../../platform/streams.ts';
import type { SimExecResult } from './sim-image.ts';

/** A command that was asked for and not yet fetched. */
export interface PendingExec {
  /** Runs it; takes as long as it takes. */
  run(): Promise<SimExecResult>;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

const KEY_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
const CHANNEL = { stdout: 1, stderr: 2, error: 3 } as const;

/** The handler of the streaming port; `take` finds, and removes, what a token stands for. */
export function createSimStreaming(take: (token: string) => PendingExec | undefined, crypto: CryptoPort): HttpHandler {
  return async (request): Promise<HttpResponse> => {
    const pending = take(request.path.split('/').at(-1) ?? '');
    if (pending === undefined) return text(404, 'no such stream\n');
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
    const protocol = PROTOCOLS.find((name) => offered.includes(name));
    const key = request.headers['sec-websocket-key'];
    // Clients fall back from WebSockets to SPDY, which is refused too: then they say so.
    if (protocol === undefined || key === undefined || !request.wantsUpgrade)
      return text(400, 'simulated containers speak WebSockets (v5.channel.k8s.io) alone\n');
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

interface Session {
  readonly pending: PendingExec;
  readonly protocol: string;
  readonly accept: string;
  readonly request: HttpRequest;
}

async function serve(socket: Duplex, { pending, protocol, accept }: Session): Promise<void> {
  await socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`,
  );
  const reading = drain(socket);
  const { exitCode, stdout = '', stderr = '' } = await pending.run();
  if (pending.stdout && stdout !== '') await socket.write(channelFrame(CHANNEL.stdout, stdout));
  if (pending.stderr && stderr !== '') await socket.write(channelFrame(CHANNEL.stderr, stderr));
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
