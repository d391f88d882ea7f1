/**
 * Answers that come bit by bit, over a WebSocket for clients that ask for one, as pages in browsers do: watches and logs.
 * Upstream: apimachinery util/httpstream/wsstream (Reader) and endpoints/handlers/watch.go (HandleWS).
 *
 * Nothing is expected of the client but its close. Differs: a watch takes the first of several protocols and asks for no
 * Origin, where upstream refuses.
 */
import type { ApiRequest, ApiResponse } from '../../api/transport.ts';
import { badRequest } from '../../api/status-error.ts';
import { acceptHead, frameOf, opcodes } from '../../base/websocket-frames.ts';
import { isUpgradeRequest } from '../../component-helpers/streaming/upgrade-tunnel.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { ByteSink, Duplex } from '../../platform/streams.ts';
import { readMessages, sendClose } from './websocket-server.ts';

type StreamResponse = Extract<ApiResponse, { kind: 'stream' }>;

/** How an answer becomes messages. */
export interface MessageForm {
  readonly opcode: typeof opcodes.text | typeof opcodes.binary;
  /** The protocol that is spoken; absent: none was offered. */
  readonly protocol?: string | undefined;
  /** The messages in a piece of the answer. */
  readonly messages: (piece: Uint8Array) => Iterable<Uint8Array>;
  /** An empty message tells the client at once that it is connected. */
  readonly greets?: boolean;
}

const normalClosure = 1000;
const tokenProtocol = 'base64url.bearer.authorization.k8s.io.';
const lengthBytes = 4;

/** Whether a request asks for an answer over a WebSocket. */
export function wantsWebSocket({ method, headers, wantsUpgrade }: ApiRequest): boolean {
  return (
    method === 'GET' && wantsUpgrade && isUpgradeRequest(headers) && headers['upgrade']?.toLowerCase() === 'websocket'
  );
}

function offeredProtocols({ headers }: ApiRequest): string[] {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim());
  return offered.filter((protocol) => protocol !== '' && !protocol.startsWith(tokenProtocol));
}

/** A log: its bytes as they are, or in base64 as text. Undefined: the client speaks neither. */
export function logMessages(request: ApiRequest): MessageForm | undefined {
  const offered = offeredProtocols(request);
  const protocol = offered.find((one) => one === 'binary.k8s.io' || one === 'base64.binary.k8s.io');
  if (protocol === undefined && offered.length > 0) return undefined;
  if (protocol !== 'base64.binary.k8s.io')
    return { opcode: opcodes.binary, protocol, greets: true, messages: (piece) => [piece] };
  const messages = (piece: Uint8Array): Uint8Array[] => [Buffer.from(Buffer.from(piece).toString('base64'))];
  return { opcode: opcodes.text, protocol, greets: true, messages };
}

/** A watch: one message per event. */
export function watchMessages(request: ApiRequest, isProtobuf: boolean): MessageForm {
  const [protocol] = offeredProtocols(request);
  if (isProtobuf) return { opcode: opcodes.binary, protocol, messages: prefixed };
  return { opcode: opcodes.text, protocol, messages: lines };
}

/** Whole lines, their ends included. */
function* lines(piece: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < piece.length;) {
    const end = piece.indexOf(0x0a, start) + 1 || piece.length;
    yield piece.subarray(start, end);
    start = end;
  }
}

/** What stands behind each length of four bytes. */
function* prefixed(piece: Uint8Array): Generator<Uint8Array> {
  const view = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
  for (let start = 0; start < view.length;) {
    const end = start + lengthBytes + view.readUInt32BE(start);
    yield view.subarray(start + lengthBytes, end);
    start = end;
  }
}

/** The answer over the client's WebSocket. `dispose` ends what stands behind it when no connection comes about. */
export function overWebSocket(
  { request, crypto }: { readonly request: ApiRequest; readonly crypto: Pick<CryptoPort, 'webcrypto'> },
  form: MessageForm,
  answer: Pick<StreamResponse, 'run'> & { dispose(): void },
): ApiResponse {
  const key = request.headers['sec-websocket-key'];
  if (key === undefined) {
    answer.dispose();
    throw badRequest('missing Sec-WebSocket-Key');
  }
  return {
    kind: 'upgrade',
    async accept(client) {
      try {
        await client.write(await acceptHead({ key, protocol: form.protocol }, crypto.webcrypto));
        if (form.greets) await client.write(frameOf(form.opcode, new Uint8Array()));
        const finished = answer.run(sinkTo(client, form)).then(() => true);
        const left = untilClosed(client).then(() => false);
        const whole = await Promise.race([finished, left]);
        await sendClose(client, normalClosure);
        // The answer of a client that has left ends with its connection.
        if (!whole) client.destroy();
        await finished;
      } catch {
        client.destroy();
        answer.dispose();
      }
    },
    dispose: () => answer.dispose(),
  };
}

function sinkTo(client: Duplex, { opcode, messages }: MessageForm): ByteSink {
  return {
    write(chunk) {
      const piece = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      return client.write(Buffer.concat([...messages(piece)].map((message) => frameOf(opcode, message))));
    },
    end: () => Promise.resolve(), // the close tells
  };
}

async function untilClosed(client: Duplex): Promise<void> {
  const messages = readMessages(client);
  while ((await messages.next()).done !== true);
}
