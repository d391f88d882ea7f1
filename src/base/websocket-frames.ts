/**
 * Writes the WebSocket frames (RFC 6455) of a server and the head that accepts a connection; `websocket-reader.ts`
 * reads frames. Without extensions, and every message is written as a single frame. By hand rather than by ws, which
 * runs on Node's streams: these frames also run over simulated connections.
 */
const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** The opcodes of frames. */
export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

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
