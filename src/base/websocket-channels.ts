/** Messages whose first byte says which channel they belong to, as Kubernetes sends several streams over one WebSocket. */
import type { MessagePiece } from './websocket-reader.ts';

/** A part of a channel's data. */
export interface ChannelPiece {
  readonly channel: number;
  readonly data: Buffer;
}

export async function* byChannel(pieces: AsyncIterable<MessagePiece>): AsyncGenerator<ChannelPiece> {
  let channel: number | undefined;
  for await (const { isFirst, payload } of pieces) {
    if (isFirst) channel = undefined;
    const data = channel === undefined ? payload.subarray(1) : payload;
    channel ??= payload[0];
    if (channel !== undefined) yield { channel, data };
  }
}
