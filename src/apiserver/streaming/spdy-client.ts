/**
 * The part of a SPDY/3.1 client that remote commands need: opens streams, transfers data both ways, ends streams.
 * Upstream: apimachinery util/httpstream/spdy over moby/spdystream.
 *
 * Headers are "compressed" as stored blocks, which every inflater reads; those of responses are not read, since they
 * contain nothing needed. Like upstream's library it has no flow-control windows. A slow handler blocks the whole
 * connection, which gives backpressure.
 */
import type { FramePace } from '../../base/frame-input.ts';
import {
  SPDY_FIN,
  SPDY_TYPES,
  SPDY_ZLIB_HEAD,
  readSpdyFrames,
  spdyControlFrame,
  spdyDataFrame,
} from '../../base/spdy-frames.ts';
import type { Duplex } from '../../platform/streams.ts';

/** Receives the data of a stream; `last` with its final chunk, which may be empty. */
export type StreamHandler = (chunk: Uint8Array, last: boolean) => Promise<void>;

/** The client's end of the connection. */
export interface SpdyClient {
  /** Opens a stream with these headers (lower-case names). */
  open(headers: Readonly<Record<string, string>>, handler: StreamHandler): Promise<SpdyStream>;
  /** Reads until the peer ends the connection. Rejects when it breaks the protocol or a handler fails. */
  run(): Promise<void>;
}

export interface SpdyStream {
  write(chunk: Uint8Array): Promise<void>;
  /** Ends the sending direction. */
  end(): Promise<void>;
}

/** An empty stored block, which flushes the inflater's output. */
const flushBlock = Buffer.from([0, 0, 0, 0xff, 0xff]);
const MAX_DATA_BYTES = 32 * 1024;

/** Uses a connection that has switched to SPDY; `incoming` is what follows the response's head. */
export function createSpdyClient(socket: Duplex, incoming: AsyncIterable<Uint8Array>, pace: FramePace): SpdyClient {
  const handlers = new Map<number, StreamHandler>();
  let nextId = 1;
  return {
    async open(headers, handler) {
      const id = nextId;
      nextId += 2;
      handlers.set(id, handler);
      await socket.write(synStream(id, headers));
      return {
        async write(chunk) {
          for (let at = 0; at < chunk.byteLength; at += MAX_DATA_BYTES)
            await socket.write(spdyDataFrame(id, chunk.subarray(at, at + MAX_DATA_BYTES), 0));
        },
        end: () => socket.write(spdyDataFrame(id, new Uint8Array(), SPDY_FIN)),
      };
    },
    async run() {
      for await (const { stream, type, flags, payload } of readSpdyFrames(incoming, pace)) {
        if (stream !== undefined) await handlers.get(stream)?.(payload, (flags & SPDY_FIN) !== 0);
        else if (type === SPDY_TYPES.ping) await socket.write(spdyControlFrame(type, payload));
        else if (type === SPDY_TYPES.rstStream && payload.length >= 4)
          await handlers.get(payload.readUInt32BE(0))?.(new Uint8Array(), true);
      }
    },
  };
}

function synStream(id: number, headers: Readonly<Record<string, string>>): Buffer {
  const ids = Buffer.alloc(10);
  ids.writeUInt32BE(id, 0);
  const block = headerBlock(headers);
  const stored = Buffer.alloc(5);
  stored.writeUInt16LE(block.length, 1);
  stored.writeUInt16LE(~block.length & 0xffff, 3);
  // All frames of the connection share one compression stream.
  const start = id === 1 ? SPDY_ZLIB_HEAD : Buffer.alloc(0);
  return spdyControlFrame(SPDY_TYPES.synStream, Buffer.concat([ids, start, stored, block, flushBlock]));
}

function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries(headers);
  const parts: Buffer[] = [uint32(entries.length)];
  for (const text of entries.flat()) parts.push(uint32(Buffer.byteLength(text)), Buffer.from(text));
  return Buffer.concat(parts);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value, 0);
  return bytes;
}
