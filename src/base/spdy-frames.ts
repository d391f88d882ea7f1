/**
 * Frames of SPDY/3.1, control and data, as both ends write and read them. Specified in: SPDY Protocol, Draft 3.1, section 2.2.
 * By hand: no maintained library for Node.js implements SPDY.
 */
import { FrameInput, type FramePace } from './frame-input.ts';

const VERSION = 3;
const HEAD_BYTES = 8;
/** Headers of a stream are a few hundred bytes. */
const MAX_CONTROL_BYTES = 64 * 1024;
/** The first word of a control frame has this bit; that of a data frame is the stream's id. */
const CONTROL_BIT = 0x8000_0000;

export const SPDY_TYPES = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;
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

/**
 * Reads until the peer ends the connection. A data frame comes in pieces, the last of which has its flags. Throws for a control
 * frame that is longer than any of use, before it has come.
 */
export async function* readSpdyFrames(incoming: AsyncIterable<Uint8Array>, pace: FramePace): AsyncGenerator<SpdyFrame> {
  const input = new FrameInput(incoming, pace);
  try {
    for (let head = await input.head(HEAD_BYTES); head !== undefined; head = await input.head(HEAD_BYTES)) {
      const first = head.readUInt32BE(0);
      const flags = head[4]!;
      const length = head.readUInt32BE(4) & 0xff_ffff;
      if (first < CONTROL_BIT) yield* dataPieces(input, { stream: first, flags, length });
      else {
        if (length > MAX_CONTROL_BYTES) throw new Error(`a SPDY control frame of ${length} bytes`);
        const payload = await input.head(length);
        if (payload === undefined) return;
        yield { type: first & 0xffff, flags, payload };
      }
    }
  } finally {
    await input.leave();
  }
}

async function* dataPieces(
  input: FrameInput,
  { stream, flags, length }: { stream: number; flags: number; length: number },
): AsyncGenerator<SpdyFrame> {
  if (length === 0) yield { stream, flags, payload: Buffer.alloc(0) };
  for (let left = length; left > 0;) {
    const payload = await input.piece(left);
    if (payload === undefined) return;
    left -= payload.length;
    yield { stream, flags: left === 0 ? flags : 0, payload };
  }
}
