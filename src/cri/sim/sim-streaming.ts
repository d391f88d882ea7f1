/**
 * Exec into and attach to simulated containers: over SPDY, which API servers use towards kubelets, and over WebSockets
 * (remote command v4 and v5, binary). The image defines what commands do; attached clients get the lines that are logged from
 * then on. Input is dropped. Port-forward: `sim-port-forward.ts`. Upstream: the CRI streaming server.
 */
import { internalError } from '../../api/status-error.ts';
import { errorMessage } from '../../base/errors.ts';
import type { FramePace } from '../../base/frame-input.ts';
import { acceptHead } from '../../base/websocket-frames.ts';
import type { HttpHandler, HttpResponse } from '../../platform/http.ts';
import type { Duplex } from '../../platform/streams.ts';
import { acceptForward, type PendingForward, type StreamingDeps } from './sim-port-forward.ts';
import { serveSpdy, type RequestedStreams } from './sim-spdy.ts';
import { channelMessage, closeMessage } from './sim-websocket.ts';

/** Writes output of a command or container to the client. */
export type WriteOutput = (stream: 'stdout' | 'stderr', text: string) => Promise<void>;

/** A command or attachment with a URL that no client has opened. */
export interface PendingStream extends RequestedStreams {
  /** Runs the command, or waits for the container's end. Resolves to the exit code. */
  run(write: WriteOutput): Promise<number>;
}

const PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
const SPDY_PROTOCOL = 'v4.channel.k8s.io';
const CHANNEL = { stdout: 1, stderr: 2, error: 3 } as const;

/** The handler of the streaming port. `take` removes and returns the stream of a token. */
export function createSimStreaming(
  take: (token: string) => PendingStream | PendingForward | undefined,
  deps: StreamingDeps,
): HttpHandler {
  return async (request): Promise<HttpResponse> => {
    const pending = take(request.path.split('/').at(-1) ?? '');
    if (pending === undefined) return textResponse(404, 'no such stream\n');
    if ('serve' in pending)
      return (
        (await acceptForward(request, pending, deps)) ??
        textResponse(400, 'port-forward speaks SPDY/3.1 and WebSockets\n')
      );
    if (request.wantsUpgrade && request.headers['upgrade']?.toLowerCase() === 'spdy/3.1')
      return { kind: 'upgrade', accept: (socket) => serveOverSpdy({ socket, pace: deps.pace }, pending) };
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
    const protocol = PROTOCOLS.find((name) => offered.includes(name));
    const key = request.headers['sec-websocket-key'];
    if (protocol === undefined || key === undefined || !request.wantsUpgrade)
      return textResponse(400, 'simulated containers speak SPDY/3.1 and WebSockets (v5.channel.k8s.io) alone\n');
    const head = await acceptHead({ key, protocol }, deps.crypto.webcrypto);
    return { kind: 'upgrade', accept: (socket) => serveWebSocket(socket, { pending, head }) };
  };
}

function textResponse(status: number, body: string): HttpResponse {
  return {
    kind: 'bytes',
    status,
    headers: { 'content-type': 'text/plain', 'content-length': String(body.length) },
    chunks: [Buffer.from(body)],
  };
}

async function serveOverSpdy(
  connection: { readonly socket: Duplex; readonly pace: FramePace },
  pending: PendingStream,
): Promise<void> {
  await connection.socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\nX-Stream-Protocol-Version: ${SPDY_PROTOCOL}\r\n\r\n`,
  );
  await serveSpdy(connection, pending, async ({ write }) => {
    const status = await runToEnd(pending, (stream, data) => write(stream, data));
    await write('error', JSON.stringify(status));
  });
}

interface Session {
  readonly pending: PendingStream;
  /** Status line and headers of the 101 response. */
  readonly head: string;
}

async function serveWebSocket(socket: Duplex, { pending, head }: Session): Promise<void> {
  await socket.write(head);
  const reading = drain(socket);
  const status = await runToEnd(pending, async (stream, data) => {
    if (pending[stream] && data !== '') await socket.write(channelMessage(CHANNEL[stream], Buffer.from(data)));
  });
  await socket.write(channelMessage(CHANNEL.error, Buffer.from(JSON.stringify(status))));
  await socket.write(closeMessage());
  await socket.end();
  await reading;
}

/** Reads and drops the client's frames, since its end shows only then. */
async function drain(socket: Duplex): Promise<void> {
  try {
    for await (const _ of socket.incoming);
  } catch {
    // The client disconnected.
  }
}

/** Runs a command or attachment; the status in which it ended, also when it could not be run. */
async function runToEnd(pending: PendingStream, write: WriteOutput): Promise<object> {
  try {
    return statusOf(await pending.run(write));
  } catch (error) {
    return internalError(`error executing command in container: ${errorMessage(error)}`).status;
  }
}

function statusOf(exitCode: number): object {
  if (exitCode === 0) return { metadata: {}, status: 'Success' };
  return {
    metadata: {},
    status: 'Failure',
    reason: 'NonZeroExitCode',
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
  };
}
