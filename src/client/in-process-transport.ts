/**
 * The client inside the server's own process: calls the API handler directly, passing objects instead of bytes, through
 * the same filters as everybody else. Authentication is replaced by the given principal; authorization is not skipped.
 */
import type { ApiBody, ApiHandler, ApiRequest, ApiResponse, Principal } from '../api/transport.ts';
import type { Clock } from '../platform/clock.ts';
import type { Duplex } from '../platform/streams.ts';
import { decodeErrorBody, errorOfAnswer } from './answer-error.ts';
import type { Client } from './client.ts';
import { toAnswer, toRawAnswer } from './in-process-answers.ts';
import { InProcessWatch } from './in-process-watch.ts';
import { createMemoryDuplexPair } from './memory-duplex.ts';
import { createTransportClient, type ClientTransport, type TransportRequest } from './transport-client.ts';
import { readAnswerHead } from './upgrade-head.ts';

export interface InProcessClientDeps {
  readonly handler: ApiHandler;
  readonly principal: Principal;
  readonly clock: Clock;
  /** Also the default field manager, up to its first slash. */
  readonly userAgent: string;
  /** The request that makes these calls: they have its source address and its impersonation. */
  readonly partOf?: ApiRequest;
}

/** Makes a client that calls `handler` as `principal`. Objects it returns are shared: never mutate them. */
export function createInProcessClient(deps: InProcessClientDeps): Client {
  return createTransportClient(createInProcessTransport(deps), deps.clock);
}

/** The signal of calls that are never aborted. */
const never = new AbortController().signal;

function createInProcessTransport(deps: InProcessClientDeps): ClientTransport {
  const pause = (): Promise<void> => deps.clock.yield();
  const turn = (): Promise<void> | undefined => deps.clock.turn();
  const send = (
    request: TransportRequest,
    mode: { wantsObjects: boolean; wantsUpgrade?: boolean; signal: AbortSignal },
  ) => deps.handler(toApiRequest(deps, request, { ...mode, pause, turn }));

  return {
    watchList: true,
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
