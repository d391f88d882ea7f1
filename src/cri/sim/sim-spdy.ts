/**
 * The server's end of SPDY/3.1 as far as exec, attach and port-forward (`sim-port-forward.ts`) need it. Upstream: the CRI streaming server over moby/spdystream.
 *
 * Which stream is which its headers say; but clients of remote command v4 open them in one fixed order, which is
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
const frameTypes = { synStream: 1, synReply: 2, rstStream: 3, ping: 6 } as const;
const finFlag = 1;
const headBytes = 8;
/** Its stream, another stream, priority and slot. */
const synStreamHeadBytes = 10;
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
    await socket.write(synReply(id, ids.size === 1));
    if (ids.size === order.length) complete.resolve();
  };
  const reading = readFrames(socket, { onStream }).then(
    () => complete.reject(new Error('the client left before it had opened its streams')),
    complete.reject,
  );
  await complete.promise;
  await work({
    async write(stream, text) {
      const id = ids.get(stream);
      if (id !== undefined && text !== '') await socket.write(streamData(id, Buffer.from(text), false));
    },
  });
  for (const id of ids.values()) await socket.write(streamData(id, Buffer.alloc(0), true));
  await socket.end();
  await reading;
}

/** What comes over a connection. Each is waited for before the next frame is read. */
export interface SpdyEvents {
  /** A stream the client opened, with its compressed headers. */
  onStream(id: number, headers: Uint8Array): Promise<void>;
  onData?(id: number, chunk: Uint8Array, last: boolean): Promise<void>;
}

/** Reads until the client ends the connection or breaks it off. */
export async function readFrames(socket: Duplex, events: SpdyEvents): Promise<void> {
  let left = Buffer.alloc(0);
  for await (const chunk of socket.incoming) {
    left = left.length === 0 ? Buffer.from(chunk) : Buffer.concat([left, chunk]);
    for (;;) {
      if (left.length < headBytes) break;
      const length = left.readUInt32BE(4) & 0xff_ffff;
      if (length > maxFrameBytes) throw new Error(`a SPDY frame of ${length} bytes`);
      if (left.length < headBytes + length) break;
      const [first, flags] = [left.readUInt32BE(0), left[4]!];
      const payload = left.subarray(headBytes, headBytes + length);
      left = left.subarray(headBytes + length);
      await takeFrame({ first, flags, payload }, socket, events);
    }
  }
}

async function takeFrame(
  { first, flags, payload }: { readonly first: number; readonly flags: number; readonly payload: Buffer },
  socket: Duplex,
  events: SpdyEvents,
): Promise<void> {
  const last = (flags & finFlag) !== 0;
  if (first < controlBit) return events.onData?.(first, payload, last);
  const type = first & 0xffff;
  if (type === frameTypes.ping) return socket.write(controlFrame(frameTypes.ping, payload));
  const id = payload.length >= 4 ? payload.readUInt32BE(0) & 0x7fff_ffff : 0;
  if (type === frameTypes.rstStream) return events.onData?.(id, new Uint8Array(), true);
  if (type !== frameTypes.synStream || payload.length < synStreamHeadBytes) return;
  await events.onStream(id, payload.subarray(synStreamHeadBytes));
  if (last) await events.onData?.(id, new Uint8Array(), true);
}

/** The answer to a stream that was opened; `isFirst`: of the connection. */
export function synReply(id: number, isFirst: boolean): Uint8Array {
  return controlFrame(frameTypes.synReply, reply(id, isFirst));
}

/** Data of a stream; `last`: nothing follows. */
export function streamData(id: number, payload: Uint8Array, last: boolean): Uint8Array {
  return dataFrame(id, payload, last ? finFlag : 0);
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
