/**
 * gRPC calls over a unix socket with plain objects in and out: the one place that touches connect. Loading this module
 * costs 80 ms, so `cri-client.ts` imports it at the first call.
 *
 * Invariants: every rejection is a `CriError` except an abort by the caller, which rejects with the signal's reason.
 */
import type { DescMethod, DescMethodStreaming, DescMethodUnary, FileRegistry } from '@bufbuild/protobuf';
import { ConnectError, type Transport } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import type { CriCallOptions } from './call-options.ts';
import { CriError, grpcCodes } from './cri-error.ts';
import { createMessageConversion, type MessageConversion } from './message-conversion.ts';
import { buildDescriptors, serviceOf } from './protobuf-descriptors.ts';
import type { ProtobufTable } from './protobuf-table.ts';

/** Names one method of one service. */
export interface GrpcMethod {
  /** Full name: `runtime.v1.RuntimeService`. */
  readonly service: string;
  readonly method: string;
}

/** Calls methods of the services in the given tables. */
export interface GrpcCaller {
  unary(method: GrpcMethod, request: object, options: CriCallOptions): Promise<object>;
  /** Server streaming (one request) and bidirectional streaming (an async iterable of requests). */
  stream(method: GrpcMethod, requests: object | AsyncIterable<object>, options: CriCallOptions): AsyncIterable<object>;
}

/** Where to call and what the services look like; later tables may name types of earlier ones. */
export interface GrpcCallerConfig {
  readonly socketPath: string;
  readonly tables: readonly ProtobufTable[];
  /** Sent with each call, e.g. containerd's namespace. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Node's codes of a connection that cannot be made or breaks. */
const connectionCodes: ReadonlySet<unknown> = new Set([
  'ENOENT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'EACCES',
  'ERR_HTTP2_STREAM_ERROR',
  'ERR_HTTP2_SESSION_ERROR',
  'ERR_HTTP2_GOAWAY_SESSION',
]);

/** The CriError for whatever connect threw. A broken connection is Unavailable, whatever connect calls it. */
function toCriError(error: unknown): CriError {
  const connect = ConnectError.from(error);
  const { cause } = connect;
  const broken = cause instanceof Error && 'code' in cause && connectionCodes.has(cause.code);
  return new CriError(broken ? 'Unavailable' : (grpcCodes[connect.code] ?? 'Unknown'), connect.rawMessage, {
    cause: error,
  });
}

async function* single(request: object): AsyncIterable<object> {
  yield request;
}

function isAsyncIterable(value: object): value is AsyncIterable<object> {
  return Symbol.asyncIterator in value;
}

/** Opens nothing yet: the connection is made by the first call and again after it breaks. */
export function createGrpcCaller(config: GrpcCallerConfig): GrpcCaller {
  const transport: Transport = createGrpcTransport({
    baseUrl: 'http://localhost',
    // http2.connect hands these to net.connect, where a path means a unix socket.
    nodeOptions: { path: config.socketPath } as object,
    acceptCompression: [],
    idleConnectionTimeoutMs: 24 * 3_600_000,
  });
  const conversion: MessageConversion = createMessageConversion(config.tables);
  const registries: FileRegistry[] = [];
  for (const table of config.tables) registries.push(buildDescriptors(table, registries));

  const find = ({ service, method }: GrpcMethod): DescMethod => {
    const registry = registries.find((candidate) => candidate.getService(service) !== undefined);
    const found =
      registry === undefined ? undefined : serviceOf(registry, service).methods.find((m) => m.name === method);
    if (found === undefined) throw new CriError('Unimplemented', `unknown method ${method} for service ${service}`);
    return found;
  };
  const headers = config.headers;

  return {
    async unary(method, request, { signal, timeoutMs }) {
      const desc = find(method) as DescMethodUnary;
      const message = conversion.encode(desc.input, request);
      try {
        const answer = await transport.unary(desc, signal, timeoutMs, headers, message);
        return conversion.decode(desc.output, answer.message);
      } catch (error) {
        signal?.throwIfAborted();
        throw toCriError(error);
      }
    },
    async *stream(method, requests, { signal, timeoutMs }) {
      const desc = find(method) as DescMethodStreaming;
      const input = isAsyncIterable(requests) ? requests : single(requests);
      const encoded = (async function* () {
        for await (const request of input) yield conversion.encode(desc.input, request);
      })();
      try {
        const answer = await transport.stream(desc, signal, timeoutMs, headers, encoded);
        for await (const message of answer.message) yield conversion.decode(desc.output, message);
      } catch (error) {
        signal?.throwIfAborted();
        throw toCriError(error);
      }
    },
  };
}
