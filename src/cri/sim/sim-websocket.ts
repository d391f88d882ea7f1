/** Messages of a WebSocket as far as streams of simulated containers need them. */
import { frameOf, opcodes, readFrames } from '../../base/websocket-frames.ts';

const maxMessageBytes = 1 << 20;

/** A message of a channel, whose number comes first. */
export function channelMessage(channel: number, data: Uint8Array): Uint8Array {
  return binaryMessage(Buffer.concat([Buffer.from([channel]), data]));
}

export function binaryMessage(data: Uint8Array): Uint8Array {
  return frameOf(opcodes.binary, data);
}

/** The end, code 1000. */
export function closeMessage(): Uint8Array {
  return frameOf(opcodes.close, Buffer.from([0x03, 0xe8]));
}

/** What a client says, frame by frame, until it closes. @throws Error when a frame is too large */
export async function* readMessages(incoming: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const { opcode, payload } of readFrames(incoming, maxMessageBytes)) {
    if (opcode === opcodes.close) return;
    // What is continued, text and binary alike; pings and pongs are not.
    if (opcode < opcodes.close) yield payload;
  }
}
