/**
 * The server's end of SPDY/3.1 as far as exec and attach need it. Upstream: the CRI streaming server over moby/spdystream.
 *
 * Which stream is which its headers say, compressed; but clients of remote command v4 open them in one fixed order, which is
 * all that is gone by here: error, then of stdin, stdout, stderr and resize those that were asked for. Input is dropped.
 */
import type { Duplex } from '../../platform/streams.ts';

/** What a client is given over its streams. */
export interface SpdyOutput {
  /** Writes to a stream, when the client asked for it. */
  write(stream: 'stdout' | 'stderr' | 'error', text: string): Promise<void>;
}

/** Which streams were asked for. */
export interface RequestedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

const version = 3;
const controlBit = 0x8000_0000;
const frameTypes = { synStream: 1, synReply: 2, ping: 6 } as const;
const finFlag = 1;
const headBytes = 8;
const maxFrameBytes = 1 << 20;
/** A zlib stream with SPDY/3's dictionary, then no headers in a stored block, and an empty block that flushes. */
const zlibHeader = Buffer.from([0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2]);
const noHeaders = Buffer.from([0, 4, 0, 0xfb, 0xff, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);

/** Names of the streams in the order clients open them. */
function streamOrder({ stdin, stdout, stderr, tty }: RequestedStreams): readonly string[] {
  return [
    'error',
    ...(stdin ? ['stdin'] : []),
    ...(stdout ? ['stdout'] : []),
    ...(stderr && !tty ? ['stderr'] : []),
    ...(tty ? ['resize'] : []),
  ];
}

/** Serves one connection that has switched: waits for its streams, lets `work` write to them, ends them. */
export async function serveSpdy(
  socket: Duplex,
  requested: RequestedStreams,
  work: (output: SpdyOutput) => Promise<void>,
): Promise<void> {
  const order = streamOrder(requested);
  const ids = new Map<string, number>();
  const complete = Promise.withResolvers<void>();
  const onStream = async (id: number): Promise<void> => {
    const name = order[ids.size];
    if (name === undefined) return;
    ids.set(name, id);
    await socket.write(controlFrame(frameTypes.synReply, reply(id, ids.size === 1)));
    if (ids.size === order.length) complete.resolve();
  };
  const reading = readFrames(socket, onStream).then(
    () => complete.reject(new Error('the client left before it had opened its streams')),
    complete.reject,
  );
  await complete.promise;
  await work({
    async write(stream, text) {
      const id = ids.get(stream);
      if (id !== undefined && text !== '') await socket.write(dataFrame(id, Buffer.from(text), 0));
    },
  });
  for (const id of ids.values()) await socket.write(dataFrame(id, Buffer.alloc(0), finFlag));
  await socket.end();
  await reading;
}

/** Reads until the client ends the connection or breaks it off. */
async function readFrames(socket: Duplex, onStream: (id: number) => Promise<void>): Promise<void> {
  let left = Buffer.alloc(0);
  for await (const chunk of socket.incoming) {
    left = left.length === 0 ? Buffer.from(chunk) : Buffer.concat([left, chunk]);
    for (;;) {
      if (left.length < headBytes) break;
      const length = left.readUInt32BE(4) & 0xff_ffff;
      if (length > maxFrameBytes) throw new Error(`a SPDY frame of ${length} bytes`);
      if (left.length < headBytes + length) break;
      const first = left.readUInt32BE(0);
      const payload = left.subarray(headBytes, headBytes + length);
      left = left.subarray(headBytes + length);
      if (first < controlBit) continue;
      const type = first & 0xffff;
      if (type === frameTypes.synStream && length >= 4) await onStream(payload.readUInt32BE(0) & 0x7fff_ffff);
      if (type === frameTypes.ping) await socket.write(controlFrame(frameTypes.ping, payload));
    }
  }
}

/** One compression stream runs through all answers of the connection: the first begins it. */
function reply(id: number, isFirst: boolean): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(id, 0);
  return Buffer.concat([head, isFirst ? zlibHeader : Buffer.alloc(0), noHeaders]);
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
