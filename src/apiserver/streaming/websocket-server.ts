/**
 * The server's end of a WebSocket (RFC 6455): binary messages in and out. Upstream: apimachinery util/httpstream/wsstream.
 *
 * Pings are answered, fragments put together, a close is answered by a close; what breaks the protocol ends the connection.
 */
import type { Duplex } from '../../platform/streams.ts';

const acceptSuffix = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const maxMessageBytes = 16 * 1024 * 1024;
const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** The head that accepts the client's key and one of its protocols. */
export async function acceptHead(
  request: { readonly key: string; readonly protocol: string },
  webcrypto: typeof globalThis.crypto,
): Promise<string> {
  const digest = await webcrypto.subtle.digest('SHA-1', Buffer.from(request.key + acceptSuffix));
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${Buffer.from(digest).toString('base64')}`,
    `Sec-WebSocket-Protocol: ${request.protocol}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

interface Frame {
  readonly final: boolean;
  readonly opcode: number;
  readonly payload: Buffer;
}

/** Sends a binary message. */
export function sendMessage(socket: Duplex, ...parts: readonly Uint8Array[]): Promise<void> {
  return socket.write(frameOf(opcodes.binary, Buffer.concat(parts)));
}

/** Sends a close with a status, and ends our direction. */
export async function sendClose(socket: Duplex, code: number): Promise<void> {
  await socket.write(frameOf(opcodes.close, Buffer.from([code >> 8, code & 0xff])));
  await socket.end();
}

/** The client's messages until it closes. Throws when it breaks the protocol. */
export async function* readMessages(socket: Duplex): AsyncGenerator<Buffer> {
  let gathered: Buffer[] = [];
  let bytes = 0;
  for await (const { final, opcode, payload } of readFrames(socket.incoming)) {
    if (opcode === opcodes.close) return;
    if (opcode === opcodes.ping) await socket.write(frameOf(opcodes.pong, payload));
    if (opcode > opcodes.binary) continue;
    gathered.push(payload);
    bytes += payload.length;
    if (bytes > maxMessageBytes) throw new Error('WebSocket message too large');
    if (!final) continue;
    yield gathered.length === 1 ? payload : Buffer.concat(gathered);
    gathered = [];
    bytes = 0;
  }
}

function frameOf(opcode: number, payload: Uint8Array): Buffer {
  const length = payload.byteLength;
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

async function* readFrames(incoming: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  let buffer: Buffer = Buffer.alloc(0);
  for await (const chunk of incoming) {
    buffer = buffer.length === 0 ? Buffer.from(chunk) : Buffer.concat([buffer, chunk]);
    for (let parsed = parseFrame(buffer); parsed !== undefined; parsed = parseFrame(buffer)) {
      buffer = buffer.subarray(parsed.size);
      yield parsed.frame;
    }
  }
}

/** Undefined: not whole yet. */
function parseFrame(buffer: Buffer): { readonly frame: Frame; readonly size: number } | undefined {
  if (buffer.length < 2) return undefined;
  if ((buffer[1]! & 0x80) === 0 || (buffer[0]! & 0x70) !== 0)
    throw new Error('WebSocket frame of a client must be masked and plain');
  const short = buffer[1]! & 0x7f;
  const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
  const start = 2 + lengthBytes + 4;
  if (buffer.length < start) return undefined;
  const length =
    lengthBytes === 8 ? Number(buffer.readBigUInt64BE(2)) : lengthBytes === 2 ? buffer.readUInt16BE(2) : short;
  if (length > maxMessageBytes) throw new Error('WebSocket message too large');
  if (buffer.length < start + length) return undefined;
  const mask = buffer.subarray(start - 4, start);
  const payload = Buffer.from(buffer.subarray(start, start + length));
  for (let at = 0; at < payload.length; at++) payload[at]! ^= mask[at & 3]!;
  return { frame: { final: (buffer[0]! & 0x80) !== 0, opcode: buffer[0]! & 0x0f, payload }, size: start + length };
}
