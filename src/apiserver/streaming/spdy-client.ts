/**
 * As much of a SPDY/3.1 client as remote commands need: streams we open, data both ways, ends of streams. Upstream:
 * apimachinery util/httpstream/spdy over moby/spdystream.
 *
 * Headers are "compressed" by blocks that are stored as they are, which every inflater reads; those of the answers are not
 * read, because nothing in them matters. Like upstream's library it keeps no flow-control windows. A handler that takes its
 * time holds up the whole connection: that is the backpressure.
 */
import type { Duplex } from '../../platform/streams.ts';

/** Takes what the peer sends on a stream; `last` with its final piece, which may be empty. */
export type StreamHandler = (chunk: Uint8Array, last: boolean) => Promise<void>;

/** Our end of the connection. */
export interface SpdyClient {
  /** Opens a stream with these headers (lower-case names). */
  open(headers: Readonly<Record<string, string>>, handler: StreamHandler): Promise<SpdyStream>;
  /** Reads until the peer ends the connection. Rejects when it breaks the protocol or a handler fails. */
  run(): Promise<void>;
}

/** A stream we opened. */
export interface SpdyStream {
  write(chunk: Uint8Array): Promise<void>;
  /** Ends our direction. */
  end(): Promise<void>;
}

const controlBit = 0x8000_0000;
const version = 3;
const frameTypes = { synStream: 1, rstStream: 3, ping: 6 } as const;
const finFlag = 1;
const headBytes = 8;
/** A zlib stream with a preset dictionary, and the checksum of SPDY/3's. */
const zlibHeader = Buffer.from([0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2]);
/** An empty stored block: makes inflaters hand out what came before it. */
const flushBlock = Buffer.from([0, 0, 0, 0xff, 0xff]);
const maxDataBytes = 32 * 1024;

/** Speaks over a connection that has switched to SPDY; `incoming` is what follows the answer's head. */
export function createSpdyClient(socket: Duplex, incoming: AsyncIterable<Uint8Array>): SpdyClient {
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
          for (let at = 0; at < chunk.byteLength; at += maxDataBytes)
            await socket.write(dataFrame(id, chunk.subarray(at, at + maxDataBytes), 0));
        },
        end: () => socket.write(dataFrame(id, new Uint8Array(), finFlag)),
      };
    },
    async run() {
      for await (const { first, flags, payload } of readFrames(incoming)) {
        if (first < controlBit) {
          const last = (flags & finFlag) !== 0;
          await handlers.get(first)?.(payload, last);
          continue;
        }
        const type = first & 0xffff;
        if (type === frameTypes.ping) await socket.write(controlFrame(frameTypes.ping, payload));
        else if (type === frameTypes.rstStream) await handlers.get(payload.readUInt32BE(0))?.(new Uint8Array(), true);
      }
    },
  };
}

function controlFrame(type: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt16BE(0x8000 | version, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt32BE(payload.byteLength, 4);
  return Buffer.concat([head, payload]);
}

function dataFrame(id: number, payload: Uint8Array, flags: number): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(id, 0);
  head.writeUInt32BE(((flags << 24) | payload.byteLength) >>> 0, 4);
  return Buffer.concat([head, payload]);
}

function synStream(id: number, headers: Readonly<Record<string, string>>): Buffer {
  const ids = Buffer.alloc(10);
  ids.writeUInt32BE(id, 0);
  const block = headerBlock(headers);
  const stored = Buffer.alloc(5);
  stored.writeUInt16LE(block.length, 1);
  stored.writeUInt16LE(~block.length & 0xffff, 3);
  // One compression stream runs through all frames of the connection.
  const start = id === 1 ? zlibHeader : Buffer.alloc(0);
  return controlFrame(frameTypes.synStream, Buffer.concat([ids, start, stored, block, flushBlock]));
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

interface Frame {
  /** Control bit, version and type; or the stream's id. */
  readonly first: number;
  readonly flags: number;
  readonly payload: Buffer;
}

async function* readFrames(incoming: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  let buffer: Buffer = Buffer.alloc(0);
  for await (const chunk of incoming) {
    buffer = buffer.length === 0 ? Buffer.from(chunk) : Buffer.concat([buffer, chunk]);
    while (buffer.length >= headBytes) {
      const length = buffer.readUInt32BE(4) & 0xff_ffff;
      if (buffer.length < headBytes + length) break;
      yield {
        first: buffer.readUInt32BE(0),
        flags: buffer[4]!,
        payload: buffer.subarray(headBytes, headBytes + length),
      };
      buffer = buffer.subarray(headBytes + length);
    }
  }
}
