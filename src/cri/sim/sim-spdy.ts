/**
 * The server's end of SPDY/3.1 as far as exec, attach and port-forward (`sim-port-forward.ts`) need it. Upstream: the CRI streaming server over moby/spdystream.
 *
 * Streams are identified by their order, not by their headers: clients of remote command v4 open error first, then those of
 * stdin, stdout, stderr and resize that the request names. Input is dropped.
 */
import type { FramePace } from '../../base/frame-input.ts';
import {
  SPDY_FIN,
  SPDY_TYPES,
  SPDY_ZLIB_HEAD,
  readSpdyFrames,
  spdyControlFrame,
  spdyDataFrame,
  type SpdyFrame,
} from '../../base/spdy-frames.ts';
import type { Duplex } from '../../platform/streams.ts';

/** The streams towards a client. */
export interface SpdyOutput {
  /** Writes to a stream that the client requested; other output is dropped. */
  write(stream: 'stdout' | 'stderr' | 'error', text: string): Promise<void>;
}

/** The streams that the request names. */
export interface RequestedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** The payload before the headers: stream id, associated stream, priority and slot. */
const SYN_STREAM_HEAD_BYTES = 10;
/** A stored deflate block with zero headers, and an empty block that flushes the inflater. */
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

/** Serves an upgraded connection: waits until the client has opened its streams, runs `work`, which writes to them, and ends them. */
export async function serveSpdy(
  { socket, pace }: { readonly socket: Duplex; readonly pace: FramePace },
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
  const reading = handleFrames(socket, pace, { onStream }).then(
    () => complete.reject(new Error('the client disconnected before it had opened its streams')),
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

/** The handlers of a connection's frames. Each is awaited before the next frame is read. */
export interface SpdyEvents {
  /** The client has opened a stream. `headers` are compressed. */
  onStream(id: number, headers: Uint8Array): Promise<void>;
  onData?(id: number, chunk: Uint8Array, last: boolean): Promise<void>;
}

/** Handles frames until the client ends or aborts the connection. */
export async function handleFrames(socket: Duplex, pace: FramePace, events: SpdyEvents): Promise<void> {
  for await (const frame of readSpdyFrames(socket.incoming, pace)) await handleFrame(frame, socket, events);
}

async function handleFrame(frame: SpdyFrame, socket: Duplex, events: SpdyEvents): Promise<void> {
  const { flags, payload } = frame;
  const last = (flags & SPDY_FIN) !== 0;
  if (frame.stream !== undefined) return events.onData?.(frame.stream, payload, last);
  if (frame.type === SPDY_TYPES.ping) return socket.write(spdyControlFrame(frame.type, payload));
  const id = payload.length >= 4 ? payload.readUInt32BE(0) & 0x7fff_ffff : 0;
  if (frame.type === SPDY_TYPES.rstStream) return events.onData?.(id, new Uint8Array(), true);
  if (frame.type !== SPDY_TYPES.synStream || payload.length < SYN_STREAM_HEAD_BYTES) return;
  await events.onStream(id, payload.subarray(SYN_STREAM_HEAD_BYTES));
  if (last) await events.onData?.(id, new Uint8Array(), true);
}

/** The reply to an opened stream. `isFirst`: it is the connection's first reply. */
export function synReply(id: number, isFirst: boolean): Uint8Array {
  return spdyControlFrame(SPDY_TYPES.synReply, synReplyPayload(id, isFirst));
}

/** Data of a stream; `last`: nothing follows. */
export function streamData(id: number, payload: Uint8Array, last: boolean): Uint8Array {
  return spdyDataFrame(id, payload, last ? SPDY_FIN : 0);
}

/** All replies of a connection share one compression stream: the first one has its header. */
function synReplyPayload(id: number, isFirst: boolean): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(id, 0);
  return Buffer.concat([head, isFirst ? SPDY_ZLIB_HEAD : Buffer.alloc(0), noHeaders]);
}
