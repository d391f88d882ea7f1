/** Carries one HTTP call from a simulated client to a handler and its answer back, as the real adapters would. */
import { onAbort } from '../../base/abort.ts';
import { Channel } from '../../base/channel.ts';
import {
  BodyTooLargeError,
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  type PeerCertificate,
} from '../http.ts';
import type { HttpAnswer, HttpCall, HttpUpgrade } from '../net.ts';
import type { ByteSink } from '../streams.ts';
import { createDuplexPair, goneError, resume } from './streams.ts';

const STREAM_CAPACITY = 16;
const encoder = new TextEncoder();

/** The caller of an exchange. */
export interface Caller {
  readonly remoteAddress: string;
  readonly peerCertificate: PeerCertificate | undefined;
  readonly wantsUpgrade: boolean;
}

/** An answer, and when nothing of it is left to be aborted. */
export interface Exchange {
  readonly answer: HttpAnswer | HttpUpgrade;
  readonly over: Promise<void>;
}

const over: Promise<void> = Promise.resolve();

/** Calls the handler; the call's signal is the client going away. */
export async function callHandler(handler: HttpHandler, call: HttpCall, caller: Caller): Promise<Exchange> {
  const controller = new AbortController();
  onAbort(call.signal, () => controller.abort(call.signal?.reason ?? goneError()));
  const response = await handler(toRequest(call, caller, controller.signal));
  if (response.kind === 'bytes') return { answer: bytesAnswer(call, response), over };
  if (response.kind === 'stream') return streamAnswer(response, controller);
  if (caller.wantsUpgrade) return { answer: await switchProtocols(response), over };
  response.dispose?.();
  return { answer: plainAnswer(400, 'you must request an upgrade\n'), over };
}

function toRequest(call: HttpCall, caller: Caller, signal: AbortSignal): HttpRequest {
  const url = /^[a-z]+:\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?/i.exec(call.url);
  const chunks = chunksOf(call.body);
  const headers: Record<string, string> = { host: url?.[1] ?? '' };
  const apart = new Map<string, readonly string[]>();
  if (chunks.length === undefined) headers['transfer-encoding'] = 'chunked';
  else if (chunks.length > 0) headers['content-length'] = String(chunks.length);
  for (const [name, value] of Object.entries(call.headers ?? {})) {
    const values = typeof value === 'string' ? [value] : value;
    headers[name.toLowerCase()] = values.join(', ');
    apart.set(name.toLowerCase(), values);
  }
  return {
    method: call.method,
    path: url?.[2] || '/',
    query: url?.[3] ?? '',
    headers,
    headerLines: (name) => apart.get(name) ?? [],
    remoteAddress: caller.remoteAddress,
    peerCertificate: caller.peerCertificate,
    signal,
    wantsUpgrade: caller.wantsUpgrade,
    async readBody(limitBytes, gate) {
      const parts: Uint8Array[] = [];
      let length = 0;
      let freeBytes = gate?.freeBytes ?? limitBytes;
      for await (const chunk of chunks.all) {
        length += chunk.byteLength;
        if (length > limitBytes) throw new BodyTooLargeError(limitBytes);
        parts.push(chunk);
        if (length <= freeBytes) continue;
        freeBytes = limitBytes;
        await gate?.pass();
      }
      return parts.length === 1 ? parts[0]! : Buffer.concat(parts, length);
    },
    async *bodyStream() {
      yield* chunks.all;
    },
  };
}

/** A body as chunks; `length` where it is known. */
function chunksOf(body: HttpCall['body']): {
  readonly length?: number;
  readonly all: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
} {
  if (body === undefined) return { length: 0, all: [] };
  const whole = typeof body === 'string' ? encoder.encode(body) : body;
  if (whole instanceof Uint8Array) return { length: whole.byteLength, all: whole.byteLength === 0 ? [] : [whole] };
  return { all: whole };
}

type BytesResponse = Extract<HttpResponse, { kind: 'bytes' }>;
type StreamResponse = Extract<HttpResponse, { kind: 'stream' }>;
type UpgradeResponse = Extract<HttpResponse, { kind: 'upgrade' }>;

function bytesAnswer(call: HttpCall, response: BytesResponse): HttpAnswer {
  const length = response.chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
  const chunks = call.method === 'HEAD' ? [] : response.chunks;
  return {
    status: response.status,
    headers: { 'content-length': String(length), ...flatten(response) },
    body: iterate(chunks),
    cancel: () => undefined,
  };
}

function plainAnswer(status: number, text: string): HttpAnswer {
  return {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: iterate([encoder.encode(text)]),
    cancel: () => undefined,
  };
}

function streamAnswer(response: StreamResponse, controller: AbortController): Exchange {
  const channel = new Channel<Uint8Array>(STREAM_CAPACITY);
  let failure: unknown;
  const sink: ByteSink = {
    async write(chunk) {
      if (controller.signal.aborted || channel.closed) throw goneError();
      await channel.send(typeof chunk === 'string' ? encoder.encode(chunk) : chunk.slice());
    },
    end: async () => channel.close(),
  };
  onAbort(controller.signal, () => {
    failure ??= controller.signal.reason;
    channel.drain();
    channel.close();
  });
  const ended = response.run(sink).then(
    () => channel.close(),
    (error: unknown) => {
      failure ??= Object.assign(goneError(), { cause: error });
      channel.close();
    },
  );
  const answer: HttpAnswer = {
    status: response.status,
    headers: flatten(response),
    body: readStream(channel, () => failure),
    cancel: () => controller.abort(goneError()),
  };
  return { answer, over: ended };
}

async function* readStream(channel: Channel<Uint8Array>, failure: () => unknown): AsyncGenerator<Uint8Array> {
  try {
    yield* channel;
    if (failure() !== undefined) throw failure();
  } finally {
    channel.close(); // a reader that stops early is a client that left
  }
}

/** The handler writes its own head; it is read back as a client does. */
async function switchProtocols(response: UpgradeResponse): Promise<HttpAnswer | HttpUpgrade> {
  const [client, server] = createDuplexPair();
  response.accept(server).catch((error: unknown) => server.destroy(error as Error));
  const incoming = client.incoming[Symbol.asyncIterator]();
  let received: Uint8Array = new Uint8Array();
  for (;;) {
    const end = Buffer.from(received).indexOf('\r\n\r\n');
    if (end >= 0) {
      const head = parseHead(Buffer.from(received.subarray(0, end)).toString('latin1'));
      const rest = resume(received.subarray(end + 4), incoming);
      if (head.status === 101) return { status: 101, headers: head.headers, socket: { ...client, incoming: rest } };
      return { ...head, body: rest, cancel: () => client.destroy() };
    }
    const next = await incoming.next();
    if (next.done) throw goneError();
    received = Buffer.concat([received, next.value]);
  }
}

function parseHead(text: string): { status: number; headers: Record<string, string> } {
  const [first = '', ...lines] = text.split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return { status: Number(first.split(' ')[1]), headers };
}

async function* iterate(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

function flatten(response: BytesResponse | StreamResponse): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    flat[name.toLowerCase()] = typeof value === 'string' ? value : value.join(', ');
  }
  return flat;
}
