/**
 * Streams of a pod: its log by an ordinary request; exec, attach and port-forward by WebSocket in the API's channel protocols.
 * The session's cookie and the page's origin authenticate; no token is in the URL.
 */
import { send } from './http.ts';
import { textOf } from './lines.ts';
import { type CutLine, LineCutter } from './log-lines.ts';
import { type ObjectRef, objectPath } from './kinds.ts';

/** Longer log lines are truncated. */
const LONGEST_LINE = 10_000;

/** Log lines in batches as they arrive, until the container ends or the signal aborts. Rejects when the response breaks off. */
export async function* followLog(
  pod: ObjectRef,
  params: Readonly<Record<string, string>>,
  signal: AbortSignal,
): AsyncGenerator<readonly CutLine[]> {
  const cutter = new LineCutter(LONGEST_LINE);
  for await (const piece of textOf(await requestLog(pod, params, signal))) yield cutter.cut(piece);
  yield cutter.end();
}

export function requestLog(
  pod: ObjectRef,
  params: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Response> {
  return send(`${objectPath(pod, 'log')}?${new URLSearchParams(params).toString()}`, { signal });
}

export const CHANNELS = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/** Receives the events of a channel stream. */
export interface ChannelHandler {
  /** Called when the stream can be written to. */
  opened?(): void;
  data(channel: number, bytes: Uint8Array): void;
  /** Called once; `reason` is '' when the server closed without one. */
  closed(reason: string): void;
}

/** An open stream. */
export interface ChannelStream {
  write(channel: number, bytes: Uint8Array): void;
  resize(width: number, height: number): void;
  /** Signals the end of the input of a channel. */
  endInput(): void;
  close(): void;
}

/** Opens exec or attach. `params` are those of the API; keys may repeat. */
export function openChannels(
  pod: ObjectRef,
  { subresource, params }: { readonly subresource: 'exec' | 'attach'; readonly params: URLSearchParams },
  handler: ChannelHandler,
): ChannelStream {
  const url = `wss://${location.host}${objectPath(pod, subresource)}?${params.toString()}`;
  const socket = new WebSocket(url, ['v5.channel.k8s.io']);
  socket.binaryType = 'arraybuffer';
  socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
    const bytes = new Uint8Array(data);
    if (bytes.length > 0) handler.data(bytes[0]!, bytes.subarray(1));
  };
  socket.onopen = () => handler.opened?.();
  socket.onclose = ({ reason }) => handler.closed(reason);
  const write = (channel: number, bytes: Uint8Array): void => {
    if (socket.readyState !== WebSocket.OPEN) return;
    const frame = new Uint8Array(bytes.length + 1);
    frame[0] = channel;
    frame.set(bytes, 1);
    socket.send(frame);
  };
  return {
    write,
    resize: (width, height) =>
      write(CHANNELS.resize, new TextEncoder().encode(JSON.stringify({ Width: width, Height: height }))),
    endInput: () => write(CHANNELS.close, new Uint8Array([CHANNELS.stdin])),
    close: () => socket.close(),
  };
}
