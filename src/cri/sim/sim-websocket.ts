/** Messages of a WebSocket as far as streams of simulated containers need them. */
import type { FramePace } from '../../base/frame-input.ts';
import { frameOf, OPCODES } from '../../base/websocket-frames.ts';
import { readMessages, type MessagePiece } from '../../base/websocket-reader.ts';

/** A message of a channel, whose number comes first. */
export function channelMessage(channel: number, data: Uint8Array): Uint8Array {
  return binaryMessage(Buffer.concat([Buffer.from([channel]), data]));
}

export function binaryMessage(data: Uint8Array): Uint8Array {
  return frameOf(OPCODES.binary, data);
}

/** The end, code 1000. */
export function closeMessage(): Uint8Array {
  return frameOf(OPCODES.close, Buffer.from([0x03, 0xe8]));
}

/** The client's messages, piece by piece, until it closes. Pings are not answered. */
export async function* readData(incoming: AsyncIterable<Uint8Array>, pace: FramePace): AsyncGenerator<MessagePiece> {
  for await (const piece of readMessages(incoming, pace)) if (piece.kind === 'data') yield piece;
}
