/**
 * Exec and attach for WebSocket clients with `v5.channel.k8s.io`: their channels become SPDY streams to the kubelet.
 * Upstream: apimachinery util/proxy.StreamTranslatorHandler.
 *
 * v5 is v4 with a message that ends the standard input. Present runtimes speak v4 over WebSockets, where a client can
 * end its input only by closing everything; over SPDY they support half-closed streams.
 */
import { badRequest } from '../../api/status-error.ts';
import type { ApiResponse } from '../../api/transport.ts';
import type { FramePace } from '../../base/frame-input.ts';
import { byChannel, type ChannelPiece } from '../../base/websocket-channels.ts';
import { acceptHead } from '../../base/websocket-frames.ts';
import type { TunnelRequest } from '../../component-helpers/streaming/request-head.ts';
import { dialUpgrade } from '../../component-helpers/streaming/upgrade-tunnel.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { Net } from '../../platform/net.ts';
import type { Duplex } from '../../platform/streams.ts';
import { createSpdyClient, type SpdyClient, type SpdyStream } from './spdy-client.ts';
import { readPieces, sendClose, sendMessage } from './websocket-server.ts';

const TRANSLATED_PROTOCOL = 'v5.channel.k8s.io';

/** The streams that the client asked for. */
export interface RemoteStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

const CHANNELS = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;
const NORMAL_CLOSURE = 1000;

/** Whether a request's headers ask for the translated protocol. */
export function wantsTranslation(headers: TunnelRequest['headers']): boolean {
  const protocols = (headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim());
  return headers['upgrade']?.toLowerCase() === 'websocket' && protocols.includes(TRANSLATED_PROTOCOL);
}

/** Opens the SPDY connection; running the answer joins the client with it. A backend's refusal is forwarded. */
export async function translateStreams(
  deps: { readonly net: Net; readonly crypto: CryptoPort; readonly pace: FramePace },
  request: TunnelRequest,
  streams: RemoteStreams,
): Promise<ApiResponse> {
  const key = request.headers['sec-websocket-key'];
  if (key === undefined) throw badRequest('missing Sec-WebSocket-Key');
  const headers = {
    connection: 'Upgrade',
    upgrade: 'SPDY/3.1',
    'x-stream-protocol-version': 'v4.channel.k8s.io',
    'user-agent': request.headers['user-agent'],
  };
  const dialled = await dialUpgrade(deps.net, { ...request, method: 'POST', headers });
  if (dialled.kind === 'refused') return dialled.answer;
  const { backend, head } = dialled;
  return {
    kind: 'upgrade',
    async accept(client) {
      try {
        await client.write(await acceptHead({ key, protocol: TRANSLATED_PROTOCOL }, deps.crypto.webcrypto));
        await relay({ client, spdy: createSpdyClient(backend, head.rest, deps.pace), pace: deps.pace }, streams);
      } catch {
        client.destroy();
      } finally {
        backend.destroy();
      }
    },
    dispose: () => backend.destroy(),
  };
}

interface StreamEnds {
  readonly client: Duplex;
  readonly spdy: SpdyClient;
  readonly pace: FramePace;
}

async function relay({ client, spdy, pace }: StreamEnds, streams: RemoteStreams): Promise<void> {
  const finished = Promise.withResolvers<void>();
  let open = 1 + Number(streams.stdout) + Number(streams.stderr && !streams.tty);
  const output =
    (channel: number) =>
    async (chunk: Uint8Array, last: boolean): Promise<void> => {
      if (chunk.byteLength > 0) await sendMessage(client, Buffer.from([channel]), chunk);
      if (last && --open === 0) finished.resolve();
    };
  const ignore = (): Promise<void> => Promise.resolve();
  const inputs = new Map<number, SpdyStream>();
  // Upstream's order; the command's result arrives on the first stream.
  await spdy.open({ streamtype: 'error' }, output(CHANNELS.error));
  if (streams.stdin) inputs.set(CHANNELS.stdin, await spdy.open({ streamtype: 'stdin' }, ignore));
  if (streams.stdout) await spdy.open({ streamtype: 'stdout' }, output(CHANNELS.stdout));
  if (streams.stderr && !streams.tty) await spdy.open({ streamtype: 'stderr' }, output(CHANNELS.stderr));
  if (streams.tty) inputs.set(CHANNELS.resize, await spdy.open({ streamtype: 'resize' }, ignore));
  // An empty message on the lowest channel tells the client that it is connected.
  await sendMessage(
    client,
    Buffer.from([streams.stdout ? CHANNELS.stdout : streams.stderr ? CHANNELS.stderr : CHANNELS.error]),
  );
  const up = readInput(byChannel(readPieces(client, pace)), inputs);
  await Promise.race([finished.promise, spdy.run(), up.then((left) => (left ? undefined : finished.promise))]);
  await sendClose(client, NORMAL_CLOSURE);
}

/** Forwards the client's input. Resolves to true when the client has disconnected. */
async function readInput(
  pieces: AsyncIterable<ChannelPiece>,
  inputs: ReadonlyMap<number, SpdyStream>,
): Promise<boolean> {
  for await (const { channel, data } of pieces) {
    if (channel !== CHANNELS.close) await inputs.get(channel)?.write(data);
    else for (const ended of data) await inputs.get(ended)?.end();
  }
  return true;
}
