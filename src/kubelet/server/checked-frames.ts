/**
 * Rewrites a client's SPDY/3.1 frames so that they are safe for a runtime. Runtimes' library (moby/spdystream before
 * 0.5.1, CVE-2026-35469) allocates memory for as many settings and headers as a frame claims to have, so one frame
 * can crash containerd with the streams of all pods. Frames are parsed and encoded again here, headers uncompressed,
 * so that the runtime cannot parse them differently. A frame that no Kubernetes client sends ends the connection.
 */
import type { FramePace } from '../../base/frame-input.ts';
import {
  readSpdyFrames,
  spdyControlFrame,
  SPDY_TYPES,
  SPDY_ZLIB_HEAD,
  spdyDataFrame,
  type SpdyFrame,
} from '../../base/spdy-frames.ts';
import { createHeaderInflater } from '../../cri/spdy-headers.ts';
import type { InflateRaw } from '../../platform/compression.ts';
import type { Duplex } from '../../platform/streams.ts';

/** Control frames with headers, and the number of payload bytes before them. */
const HEADERS_AT: ReadonlyMap<number, number> = new Map([
  [SPDY_TYPES.synStream, 10],
  [SPDY_TYPES.synReply, 4],
  [SPDY_TYPES.headers, 4],
]);
/** Control frames of a fixed length. */
const LENGTHS: ReadonlyMap<number, number> = new Map([
  [SPDY_TYPES.rstStream, 8],
  [SPDY_TYPES.ping, 4],
  [SPDY_TYPES.goAway, 8],
  [SPDY_TYPES.windowUpdate, 8],
]);
/**
 * After this many bytes of inflated headers the parser yields; each block counts as this many more, for the start of
 * its inflater.
 */
const TURN_BYTES = 64 * 1024;
const BLOCK_BYTES = 4 * 1024;
/** An empty stored block, which makes inflaters emit everything before it. */
const FLUSH = Buffer.from([0, 0, 0, 0xff, 0xff]);

/** The connection from the runtime's side. */
export function withCheckedFrames(client: Duplex, inflate: InflateRaw, pace: FramePace): Duplex {
  return {
    incoming: checkedFrames(client.incoming, inflate, pace),
    write: (chunk) => client.write(chunk),
    end: () => client.end(),
    destroy: (error) => client.destroy(error),
    closed: client.closed,
  };
}

async function* checkedFrames(
  incoming: AsyncIterable<Uint8Array>,
  inflate: InflateRaw,
  pace: FramePace,
): AsyncGenerator<Uint8Array> {
  const inflater = createHeaderInflater(inflate);
  let zlibHead: Uint8Array = SPDY_ZLIB_HEAD;
  let inflatedBytes = 0;
  for await (const frame of readSpdyFrames(incoming, pace)) {
    if (frame.stream !== undefined) {
      yield spdyDataFrame(frame.stream, frame.payload, frame.flags);
      continue;
    }
    const at = HEADERS_AT.get(frame.type);
    if (at === undefined) {
      if (LENGTHS.get(frame.type) !== frame.payload.length) throw malformedFrame(frame);
      yield controlFrame(frame, frame.payload);
      continue;
    }
    if (frame.payload.length < at) throw malformedFrame(frame);
    const block = inflater(frame.payload.subarray(at));
    inflatedBytes += block.length + BLOCK_BYTES;
    if (inflatedBytes >= TURN_BYTES) {
      inflatedBytes = 0;
      await pace.yield();
    }
    yield controlFrame(
      frame,
      Buffer.concat([frame.payload.subarray(0, at), zlibHead, storedDeflateBlock(block), FLUSH]),
    );
    zlibHead = Buffer.alloc(0);
  }
}

function malformedFrame({ type, payload }: SpdyFrame): Error {
  return new Error(`a SPDY control frame of type ${type} and ${payload.length} bytes`);
}

function controlFrame({ type = 0, flags }: SpdyFrame, payload: Uint8Array): Buffer {
  const frame = spdyControlFrame(type, payload);
  frame[4] = flags;
  return frame;
}

/** An uncompressed block of deflate data. */
function storedDeflateBlock(bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(bytes.length, 1);
  head.writeUInt16LE(~bytes.length & 0xffff, 3);
  return Buffer.concat([head, bytes]);
}
