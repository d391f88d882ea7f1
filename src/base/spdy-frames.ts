/**
 * Frames of SPDY/3.1, control and data, as both ends write and read them. Specified in: SPDY Protocol, Draft 3.1, section 2.2.
 * By hand: no maintained library for Node.js speaks SPDY.
 */

const VERSION = 3;
const HEAD_BYTES = 8;
/** The first word of a control frame has this bit; that of a data frame is the stream's id. */
const CONTROL_BIT = 0x8000_0000;

export const SPDY_TYPES = { synStream: 1, synReply: 2, rstStream: 3, ping: 6 } as const;
/** The flag of the last frame of a stream. */
export const SPDY_FIN = 1;
/** How a connection's zlib stream begins: a preset dictionary, by the checksum of SPDY/3's. */
export const SPDY_ZLIB_HEAD = Buffer.from([0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2]);

/** A control frame has a type, a data frame a stream. */
export type SpdyFrame = { readonly flags: number; readonly payload: Buffer } & (
  | { readonly type: number; readonly stream?: undefined }
  | { readonly stream: number; readonly type?: undefined }
);

export function spdyControlFrame(type: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt16BE(0x8000 | VERSION, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt32BE(payload.byteLength, 4);
  return Buffer.concat([head, payload]);
}

export function spdyDataFrame(stream: number, payload: Uint8Array, flags: number): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(stream, 0);
  head.writeUInt32BE(((flags << 24) | payload.byteLength) >>> 0, 4);
  return Buffer.concat([head, payload]);
}

/** Reads frames until the peer ends the connection. Throws for a frame of more than `maxBytes`, before it has come. */
export async function* readSpdyFrames(
  incoming: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<SpdyFrame> {
  let left: Buffer = Buffer.alloc(0);
  for await (const chunk of incoming) {
    left = left.length === 0 ? Buffer.from(chunk) : Buffer.concat([left, chunk]);
    while (left.length >= HEAD_BYTES) {
      const length = left.readUInt32BE(4) & 0xff_ffff;
      if (length > maxBytes) throw new Error(`a SPDY frame of ${length} bytes`);
      if (left.length < HEAD_BYTES + length) break;
      const first = left.readUInt32BE(0);
      const rest = { flags: left[4]!, payload: left.subarray(HEAD_BYTES, HEAD_BYTES + length) };
      yield first < CONTROL_BIT ? { stream: first, ...rest } : { type: first & 0xffff, ...rest };
      left = left.subarray(HEAD_BYTES + length);
    }
  }
}
