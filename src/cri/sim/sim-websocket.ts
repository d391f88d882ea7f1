/** Messages of a WebSocket as far as streams of simulated containers need them. */
import { frameOf, OPCODES, readFrames } from '../../base/websocket-frames.ts';

const MAX_MESSAGE_BYTES = 1 << 20;

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

/** What a client says, frame by frame, until it closes. @throws Error when a frame is too large */
export async function* readMessages(incoming: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const { opcode, payload } of readFrames(incoming, MAX_MESSAGE_BYTES)) {
    if (opcode === OPCODES.close) return;
    // What is continued, text and binary alike; pings and pongs are not.
    if (opcode < OPCODES.close) yield payload;
  }
}
