/** The server's end of a WebSocket (RFC 6455) as far as streams of containers need it. */
import type { CryptoPort } from '../../platform/crypto.ts';

const KEY_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const opcodes = { binary: 0x2, close: 0x8 } as const;
const maxMessageBytes = 1 << 20;

/** The `Sec-WebSocket-Accept` that answers a key. */
export async function acceptKey(key: string, crypto: CryptoPort): Promise<string> {
  return Buffer.from(await crypto.webcrypto.subtle.digest('SHA-1', Buffer.from(key + KEY_SUFFIX))).toString('base64');
}

/** The head of the answer that switches. */
export function switchHead(accept: string, protocol: string): string {
  return `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`;
}

/** A message of a channel, whose number comes first. */
export function channelMessage(channel: number, data: Uint8Array): Uint8Array {
  return binaryMessage(Buffer.concat([Buffer.from([channel]), data]));
}

/** A message. */
export function binaryMessage(data: Uint8Array): Uint8Array {
  return frame(opcodes.binary, data);
}

/** The end, code 1000. */
export function closeMessage(): Uint8Array {
  return frame(opcodes.close, Buffer.from([0x03, 0xe8]));
}

/** One unfragmented frame of a server: unmasked. */
function frame(opcode: number, payload: Uint8Array): Buffer {
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

/** What a client says, frame by frame, until it closes. Throws Error when a frame is too large. */
export async function* readMessages(incoming: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let left = Buffer.alloc(0);
  for await (const chunk of incoming) {
    left = Buffer.concat([left, chunk]);
    for (let next = takeFrame(left); next !== undefined; next = takeFrame(left)) {
      left = left.subarray(next.length);
      if (next.opcode === opcodes.close) return;
      // What is continued, text and binary alike; pings and pongs are not.
      if (next.opcode < opcodes.close) yield next.payload;
    }
  }
}

function takeFrame(bytes: Buffer): { opcode: number; payload: Buffer; length: number } | undefined {
  if (bytes.length < 2) return undefined;
  const short = bytes[1]! & 0x7f;
  const sizeBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const maskBytes = (bytes[1]! & 0x80) === 0 ? 0 : 4;
  const start = 2 + sizeBytes + maskBytes;
  if (bytes.length < start) return undefined;
  const size = sizeBytes === 0 ? short : sizeBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  if (size > maxMessageBytes) throw new Error(`a WebSocket frame of ${size} bytes`);
  if (bytes.length < start + size) return undefined;
  const payload = Buffer.from(bytes.subarray(start, start + size));
  if (maskBytes > 0) for (let at = 0; at < size; at++) payload[at]! ^= bytes[start - 4 + (at & 3)]!;
  return { opcode: bytes[0]! & 0xf, payload, length: start + size };
}
