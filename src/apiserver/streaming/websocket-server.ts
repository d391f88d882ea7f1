/**
 * The server's end of a WebSocket (RFC 6455): binary messages in and out. Upstream: apimachinery
 * util/httpstream/wsstream.
 *
 * Answers pings and closes; a protocol violation ends the connection.
 */
import type { FramePace } from '../../base/frame-input.ts';
import { frameOf, OPCODES } from '../../base/websocket-frames.ts';
import { readMessages, type MessagePiece } from '../../base/websocket-reader.ts';
import type { Duplex } from '../../platform/streams.ts';

/** Sends a binary message. */
export function sendMessage(socket: Duplex, ...parts: readonly Uint8Array[]): Promise<void> {
  return socket.write(frameOf(OPCODES.binary, Buffer.concat(parts)));
}

/** Sends a close frame with a status, and ends the sending direction. */
export async function sendClose(socket: Duplex, code: number): Promise<void> {
  await socket.write(frameOf(OPCODES.close, Buffer.from([code >> 8, code & 0xff])));
  await socket.end();
}

/** The chunks of the client's messages until it closes. Throws for a protocol violation. */
export async function* readPieces(socket: Duplex, pace: FramePace): AsyncGenerator<MessagePiece> {
  for await (const piece of readMessages(socket.incoming, pace)) {
    if (piece.kind === 'ping') await socket.write(frameOf(OPCODES.pong, piece.payload));
    else yield piece;
  }
}
