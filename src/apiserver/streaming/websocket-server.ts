/**
 * The server's end of a WebSocket (RFC 6455): binary messages in and out. Upstream: apimachinery util/httpstream/wsstream.
 *
 * Pings are answered, fragments put together, a close is answered by a close; what breaks the protocol ends the connection.
 */
import { frameOf, OPCODES, readFrames } from '../../base/websocket-frames.ts';
import type { Duplex } from '../../platform/streams.ts';

const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** Sends a binary message. */
export function sendMessage(socket: Duplex, ...parts: readonly Uint8Array[]): Promise<void> {
  return socket.write(frameOf(OPCODES.binary, Buffer.concat(parts)));
}

/** Sends a close with a status, and ends our direction. */
export async function sendClose(socket: Duplex, code: number): Promise<void> {
  await socket.write(frameOf(OPCODES.close, Buffer.from([code >> 8, code & 0xff])));
  await socket.end();
}

/** The client's messages until it closes. Throws when it breaks the protocol. */
export async function* readMessages(socket: Duplex): AsyncGenerator<Buffer> {
  let gathered: Buffer[] = [];
  let bytes = 0;
  for await (const { final, opcode, payload } of readFrames(socket.incoming, MAX_MESSAGE_BYTES)) {
    if (opcode === OPCODES.close) return;
    if (opcode === OPCODES.ping) await socket.write(frameOf(OPCODES.pong, payload));
    if (opcode > OPCODES.binary) continue;
    gathered.push(payload);
    bytes += payload.length;
    if (bytes > MAX_MESSAGE_BYTES) throw new Error('WebSocket message too large');
    if (!final) continue;
    yield gathered.length === 1 ? payload : Buffer.concat(gathered);
    gathered = [];
    bytes = 0;
  }
}
