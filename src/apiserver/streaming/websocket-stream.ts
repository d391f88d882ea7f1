/**
 * Streamed responses (watches and logs) over a WebSocket, for clients such as browser pages. Upstream: apimachinery
 * util/httpstream/wsstream (Reader) and endpoints/handlers/watch.go (HandleWS).
 *
 * Nothing but a close is expected from the client. Differs: a watch accepts the first of several protocols and
 * requires no Origin, where upstream refuses.
 */
import type { ApiRequest, ApiResponse } from '../../api/transport.ts';
import { badRequest } from '../../api/status-error.ts';
import type { FramePace } from '../../base/frame-input.ts';
import { acceptHead, frameOf, OPCODES } from '../../base/websocket-frames.ts';
import { isUpgradeRequest } from '../../component-helpers/streaming/upgrade-tunnel.ts';
import type { Clock } from '../../platform/clock.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { ByteSink, Duplex } from '../../platform/streams.ts';
import { paceOf } from '../turns.ts';
import { readPieces, sendClose } from './websocket-server.ts';

type StreamResponse = Extract<ApiResponse, { kind: 'stream' }>;

/** How a response is split into messages. */
export interface MessageForm {
  readonly opcode: typeof OPCODES.text | typeof OPCODES.binary;
  /** The selected protocol; absent: none was offered. */
  readonly protocol?: string | undefined;
  /** The messages in a chunk of the response. */
  readonly messages: (piece: Uint8Array) => Iterable<Uint8Array>;
  /** Whether an empty message is sent first, which tells the client that it is connected. */
  readonly beginsEmpty?: boolean;
}

const NORMAL_CLOSURE = 1000;
const TOKEN_PROTOCOL = 'base64url.bearer.authorization.k8s.io.';
const LENGTH_BYTES = 4;
/** A disconnected client may never read the close. */
const CLOSE_MS = 1000;

/** Whether a request asks for a response over a WebSocket. */
export function wantsWebSocket({ method, headers, wantsUpgrade }: ApiRequest): boolean {
  return (
    method === 'GET' && wantsUpgrade && isUpgradeRequest(headers) && headers['upgrade']?.toLowerCase() === 'websocket'
  );
}

function offeredProtocols({ headers }: ApiRequest): string[] {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim());
  return offered.filter((protocol) => protocol !== '' && !protocol.startsWith(TOKEN_PROTOCOL));
}

/** A log: its bytes unchanged, or as base64 text. Undefined when the client accepts neither. */
export function logMessages(request: ApiRequest): MessageForm | undefined {
  const offered = offeredProtocols(request);
  const protocol = offered.find((one) => one === 'binary.k8s.io' || one === 'base64.binary.k8s.io');
  if (protocol === undefined && offered.length > 0) return undefined;
  if (protocol !== 'base64.binary.k8s.io')
    return { opcode: OPCODES.binary, protocol, beginsEmpty: true, messages: (piece) => [piece] };
  const messages = (piece: Uint8Array): Uint8Array[] => [Buffer.from(Buffer.from(piece).toString('base64'))];
  return { opcode: OPCODES.text, protocol, beginsEmpty: true, messages };
}

/** A watch: one message per event. */
export function watchMessages(request: ApiRequest, isProtobuf: boolean): MessageForm {
  const [protocol] = offeredProtocols(request);
  if (isProtobuf) return { opcode: OPCODES.binary, protocol, messages: prefixed };
  return { opcode: OPCODES.text, protocol, messages: lines };
}

/** Complete lines, including their ends. */
function* lines(piece: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < piece.length;) {
    const end = piece.indexOf(0x0a, start) + 1 || piece.length;
    yield piece.subarray(start, end);
    start = end;
  }
}

/** The messages after each four-byte length. */
function* prefixed(piece: Uint8Array): Generator<Uint8Array> {
  const view = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
  for (let start = 0; start < view.length;) {
    const end = start + LENGTH_BYTES + view.readUInt32BE(start);
    yield view.subarray(start + LENGTH_BYTES, end);
    start = end;
  }
}

/** The request of a WebSocket, and its message form. */
interface WebSocketCall {
  readonly request: ApiRequest;
  readonly crypto: Pick<CryptoPort, 'webcrypto'>;
  readonly clock: Clock;
}

/**
 * The response over the client's WebSocket. `dispose` releases its source when no connection is made or the client
 * disconnects; it may be called twice.
 */
export function overWebSocket(
  { request, crypto, clock }: WebSocketCall,
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
        if (form.beginsEmpty) await client.write(frameOf(form.opcode, new Uint8Array()));
        const sink = new MessageSink(client, form);
        const finished = answer.run(sink).then(() => true);
        const left = untilClosed(client, paceOf(request, clock)).then(() => false);
        if (await Promise.race([finished, left])) return await sendClose(client, NORMAL_CLOSURE);
        sink.isClosed = true;
        answer.dispose();
        await closeToo(client, clock);
        await finished;
      } catch {
        client.destroy();
        answer.dispose();
      }
    },
    dispose: () => answer.dispose(),
  };
}

class MessageSink implements ByteSink {
  /** After a close frame nothing may be sent. */
  isClosed = false;
  readonly #client: Duplex;
  readonly #form: MessageForm;

  constructor(client: Duplex, form: MessageForm) {
    this.#client = client;
    this.#form = form;
  }

  write(chunk: Uint8Array | string): Promise<void> {
    if (this.isClosed) return Promise.reject(new Error('the client has closed its WebSocket'));
    const { opcode, messages } = this.#form;
    const piece = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    return this.#client.write(Buffer.concat([...messages(piece)].map((message) => frameOf(opcode, message))));
  }

  end(): Promise<void> {
    return Promise.resolve(); // the close tells the client
  }
}

/** Answers the client's close, and destroys the connection once the answer is sent or the time limit has passed. */
async function closeToo(client: Duplex, clock: Clock): Promise<void> {
  const cancel = clock.setTimer(CLOSE_MS, () => client.destroy());
  try {
    await sendClose(client, NORMAL_CLOSURE);
  } finally {
    cancel();
    client.destroy();
  }
}

/** Discards the client's input until it closes, as upstream. */
async function untilClosed(client: Duplex, pace: FramePace): Promise<void> {
  const pieces = readPieces(client, pace);
  while ((await pieces.next()).done !== true);
}
