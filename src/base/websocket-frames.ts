/**
 * Frames of a WebSocket (RFC 6455) as its server writes and reads them, and the head that accepts one. No extension, no
 * continuation of what is written.
 * By hand rather than by ws, which runs on Node's streams: these frames also run over simulated connections.
 */
const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** What a frame says. */
export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** One frame of a client, unmasked. */
export interface Frame {
  /** Whether its message ends with it. */
  readonly final: boolean;
  readonly opcode: number;
  readonly payload: Buffer;
}

/** The head that accepts the client's key and one of its protocols, if it offers any. */
export async function acceptHead(
  request: { readonly key: string; readonly protocol: string | undefined },
  webcrypto: typeof globalThis.crypto,
): Promise<string> {
  const digest = await webcrypto.subtle.digest('SHA-1', Buffer.from(request.key + ACCEPT_SUFFIX));
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${Buffer.from(digest).toString('base64')}`,
    ...(request.protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${request.protocol}`]),
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** One frame of a server: whole, unmasked. */
export function frameOf(opcode: number, payload: Uint8Array): Buffer {
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

/** The frames of a client. @throws Error at one that is larger than `maxBytes`, unmasked or with an extension. */
export async function* readFrames(incoming: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Frame> {
  let buffer: Buffer = Buffer.alloc(0);
  for await (const chunk of incoming) {
    buffer = buffer.length === 0 ? Buffer.from(chunk) : Buffer.concat([buffer, chunk]);
    for (let parsed = parseFrame(buffer, maxBytes); parsed !== undefined; parsed = parseFrame(buffer, maxBytes)) {
      buffer = buffer.subarray(parsed.size);
      yield parsed.frame;
    }
  }
}

/** Undefined: not whole yet. */
function parseFrame(buffer: Buffer, maxBytes: number): { readonly frame: Frame; readonly size: number } | undefined {
  if (buffer.length < 2) return undefined;
  if ((buffer[1]! & 0x80) === 0 || (buffer[0]! & 0x70) !== 0)
    throw new Error('WebSocket frame of a client must be masked and plain');
  const short = buffer[1]! & 0x7f;
  const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
  const start = 2 + lengthBytes + 4;
  if (buffer.length < start) return undefined;
  const length =
    lengthBytes === 8 ? Number(buffer.readBigUInt64BE(2)) : lengthBytes === 2 ? buffer.readUInt16BE(2) : short;
  if (length > maxBytes) throw new Error('WebSocket message too large');
  if (buffer.length < start + length) return undefined;
  const mask = buffer.subarray(start - 4, start);
  const payload = Buffer.from(buffer.subarray(start, start + length));
  for (let at = 0; at < payload.length; at++) payload[at]! ^= mask[at & 3]!;
  return { frame: { final: (buffer[0]! & 0x80) !== 0, opcode: buffer[0]! & 0x0f, payload }, size: start + length };
}
