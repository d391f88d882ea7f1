/**
 * The client inside the server's own process: calls the API handler directly, passing objects instead of bytes, through
 * the same filters as everybody else. Authentication is replaced by the given principal; authorization is not skipped.
 */
import { stringifyJson } from '../api/codec/json.ts';
import { linkedController } from '../base/abort.ts';
import { internalError } from '../api/status-error.ts';
import type { ApiBody, ApiHandler, ApiHeaders, ApiRequest, ApiResponse, Principal } from '../api/transport.ts';
import type { Clock } from '../platform/clock.ts';
import type { Duplex } from '../platform/streams.ts';
import type { Client, WatchEvent } from './client.ts';
import { createMemoryDuplexPair } from './memory-duplex.ts';
import {
  createTransportClient,
  decodeErrorBody,
  errorOfAnswer,
  type ClientTransport,
  type TransportAnswer,
  type TransportRequest,
} from './transport-client.ts';
import { bodyOfStream, eventsOfStream, type StreamResponse, valueOfStream } from './stream-answers.ts';
import { readAnswerHead } from './upgrade-head.ts';

export interface InProcessClientDeps {
  readonly handler: ApiHandler;
  readonly principal: Principal;
  readonly clock: Clock;
  /** Also the default field manager, up to its first slash. */
  readonly userAgent: string;
  /** The request whose answer is made of these calls: they come from where it came from, and impersonate whom it does. */
  readonly partOf?: ApiRequest;
}

/** Makes a client that calls `handler` as `principal`. Objects it returns are shared: never mutate them. */
export function createInProcessClient(deps: InProcessClientDeps): Client {
  return createTransportClient(createInProcessTransport(deps), deps.clock);
}

/** The signal of calls that nobody ends. */
const never = new AbortController().signal;

function createInProcessTransport(deps: InProcessClientDeps): ClientTransport {
  const pause = (): Promise<void> => deps.clock.yield();
  const turn = (): Promise<void> | undefined => deps.clock.turn();
  const send = (
    request: TransportRequest,
    mode: { wantsObjects: boolean; wantsUpgrade?: boolean; signal: AbortSignal },
  ) => deps.handler(toApiRequest(deps, request, { ...mode, pause, turn }));

  return {
    async call(request) {
      const response = await send(request, { wantsObjects: true, signal: request.signal ?? never });
      return await toAnswer(response, deps.clock);
    },
    watch: (request) => {
      // Clients bound their watches because connections can die unnoticed. This one cannot; the server's own limit stays.
      const unbounded = { ...request, query: request.query.replace(/(^|&)timeoutSeconds=\d+/, '') };
      const open = (signal: AbortSignal) => send(unbounded, { wantsObjects: true, signal });
      return new InProcessWatch(request, open, deps.clock);
    },
    async raw(request) {
      const response = await send(request, {
        wantsObjects: false,
        signal: request.signal ?? never,
      });
      return await toRawAnswer(response);
    },
    async upgrade(request) {
      const signal = request.signal ?? never;
      const response = await send(request, { wantsObjects: false, wantsUpgrade: true, signal });
      return await openUpgrade(response, deps.clock);
    },
  };
}

function toApiRequest(
  deps: InProcessClientDeps,
  request: TransportRequest,
  mode: Pick<ApiRequest, 'wantsObjects' | 'pause' | 'turn' | 'signal'> & { readonly wantsUpgrade?: boolean },
): ApiRequest {
  return {
    method: request.method,
    path: request.path,
    query: request.query,
    headers: {
      'user-agent': deps.userAgent,
      accept: 'application/json',
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
      ...impersonationHeaders(deps.partOf),
    },
    headerLines: deps.partOf?.headerLines,
    isPart: deps.partOf === undefined ? undefined : true,
    remoteAddress: deps.partOf?.remoteAddress ?? '127.0.0.1',
    principal: deps.principal,
    wantsObjects: mode.wantsObjects,
    wantsUpgrade: mode.wantsUpgrade ?? false,
    body: toApiBody(request.body),
    pause: mode.pause,
    turn: mode.turn,
    signal: mode.signal,
  };
}

function impersonationHeaders(partOf: ApiRequest | undefined): ApiRequest['headers'] {
  if (partOf === undefined) return {};
  const { headers } = partOf;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('impersonate-')));
}

function toApiBody(body: unknown): ApiBody {
  if (body === undefined) return { kind: 'none' };
  if (!(body instanceof Uint8Array)) return { kind: 'object', object: body };
  return {
    kind: 'bytes',
    read: () => Promise.resolve(body),
    async *stream() {
      yield body;
    },
  };
}

function plainHeaders(headers: ApiHeaders): Record<string, string> {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    plain[name.toLowerCase()] = typeof value === 'string' ? value : value.join(', ');
  }
  return plain;
}

function toAnswer(response: ApiResponse, clock: Clock): TransportAnswer | Promise<TransportAnswer> {
  if (response.kind === 'object') {
    return { status: response.status, headers: plainHeaders(response.headers), object: response.object };
  }
  if (response.kind === 'stream') return streamAnswer(response, clock);
  return toRawAnswer(response).then(({ status, headers, body }) => ({
    status,
    headers,
    object: decodeErrorBody(body),
  }));
}

async function streamAnswer(response: StreamResponse, clock: Clock): Promise<TransportAnswer> {
  const object = await valueOfStream(response, clock);
  return { status: response.status, headers: plainHeaders(response.headers), object };
}

async function toRawAnswer(
  response: ApiResponse,
): Promise<{ status: number; headers: Record<string, string>; body: Uint8Array }> {
  switch (response.kind) {
    case 'object':
      return {
        status: response.status,
        headers: plainHeaders(response.headers),
        body: Buffer.from(stringifyJson(response.object), 'utf8'),
      };
    case 'bytes':
      return { status: response.status, headers: plainHeaders(response.headers), body: oneChunk(response.chunks) };
    case 'stream': {
      const body = await bodyOfStream(response);
      return { status: response.status, headers: plainHeaders(response.headers), body };
    }
    case 'watch':
    case 'upgrade':
      throw internalError(`the API handler answered a plain request with a response of kind ${response.kind}`);
  }
}

/** A single chunk as it is: big documents are asked for again and again. */
function oneChunk(chunks: readonly Uint8Array[]): Uint8Array {
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

type Batch = readonly WatchEvent<unknown>[];

/**
 * The watch is asked for with the first batch. Not a generator: every event of every informer comes this way. A class: each
 * simulated node has a handful.
 */
class InProcessWatch implements AsyncIterableIterator<Batch> {
  readonly #request: TransportRequest;
  readonly #send: (signal: AbortSignal) => ApiResponse | Promise<ApiResponse>;
  readonly #clock: Clock;
  #stop: ReturnType<typeof linkedController> | undefined;
  #inner: AsyncIterator<Batch> | undefined;
  #ended = false;

  constructor(
    request: TransportRequest,
    send: (signal: AbortSignal) => ApiResponse | Promise<ApiResponse>,
    clock: Clock,
  ) {
    this.#request = request;
    this.#send = send;
    this.#clock = clock;
  }

  next(): Promise<IteratorResult<Batch>> {
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return (this.#inner === undefined ? this.#open() : this.#inner.next()).then(
      (result) => {
        if (result.done === true) this.#end();
        return result;
      },
      (error: unknown) => {
        this.#end();
        throw error;
      },
    );
  }

  async return(): Promise<IteratorResult<Batch>> {
    this.#end();
    await this.#inner?.return?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #open(): Promise<IteratorResult<Batch>> {
    this.#request.signal?.throwIfAborted();
    this.#stop = linkedController(this.#request.signal);
    const response = await this.#send(this.#stop.signal);
    if (response.kind === 'stream' && response.status < 400) {
      this.#inner = eventsOfStream(response, this.#clock);
      return this.#inner.next();
    }
    if (response.kind !== 'watch') {
      const answer = await toAnswer(response, this.#clock);
      throw errorOfAnswer(answer.status, answer.object);
    }
    this.#inner = (response.events as AsyncIterable<Batch>)[Symbol.asyncIterator]();
    return this.#inner.next();
  }

  #end(): void {
    if (!this.#ended) this.#stop?.abort(new Error('watch stopped'));
    this.#ended = true;
    this.#stop?.dispose();
  }
}

async function openUpgrade(response: ApiResponse, clock: Clock): Promise<Duplex> {
  if (response.kind !== 'upgrade') {
    const answer = await toAnswer(response, clock);
    throw errorOfAnswer(answer.status >= 400 ? answer.status : 400, answer.object);
  }
  const [ours, theirs] = createMemoryDuplexPair();
  response
    .accept(theirs)
    .catch((error: unknown) => theirs.destroy(error instanceof Error ? error : new Error(String(error))));
  const head = await readAnswerHead(ours);
  if (head.status === 101) return head.socket;
  const chunks: Uint8Array[] = [];
  for await (const chunk of head.socket.incoming) chunks.push(chunk);
  throw errorOfAnswer(head.status, decodeErrorBody(Buffer.concat(chunks)));
}
