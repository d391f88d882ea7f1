/**
 * gRPC calls over a unix socket or TCP with plain objects in and out: the one place that touches connect, and of it only
 * the manager of the HTTP/2 connection. A call is a handful of frames, so framing and trailers are handled here: connect's
 * own clients took half of the time of starting a pod. Loaded at the first call.
 *
 * Invariants: every rejection is a `GrpcError` except an abort by the caller, which rejects with the signal's reason; one
 * that never reached the server has `sent` false.
 */
import { errorMessage } from '../base/errors.ts';
import { stepByStep } from '../base/steps.ts';
import type { Clock } from '../platform/clock.ts';
import type { GrpcCallOptions } from './call-options.ts';
import { GrpcError } from './grpc-error.ts';
import { createFrameReader, frame, HEADER_BYTES, tooLarge } from './grpc-frames.ts';
import { brokenCall, requestHeaders } from './grpc-headers.ts';
import { CANCEL, followCall, type Http2Stream, ignoreLateErrors, send } from './grpc-stream.ts';
import { checkTarget, createSessions, type GrpcTarget, unreachable } from './grpc-target.ts';
import { createMessageCodec } from './message-codec.ts';
import type { ProtobufTable } from './protobuf-table.ts';

/** Names one method of one service. */
export interface GrpcMethod {
  /** Full name: `runtime.v1.RuntimeService`. */
  readonly service: string;
  readonly method: string;
}

/** Calls methods of the services in the given tables. */
export interface GrpcCaller {
  unary(method: GrpcMethod, request: object, options: GrpcCallOptions): Promise<object>;
  /** Server streaming (one request) and bidirectional streaming (an async iterable of requests). */
  stream(method: GrpcMethod, requests: object | AsyncIterable<object>, options: GrpcCallOptions): AsyncIterable<object>;
  /** Closes the connection and fails the calls in progress. The next call connects again. */
  disconnect(): void;
}

/** The server's address and the tables of its services; later tables may refer to types of earlier ones. */
export interface GrpcCallerConfig {
  readonly target: GrpcTarget;
  readonly tables: readonly ProtobufTable[];
  /** Sent with each call, e.g. containerd's namespace. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Larger answers end the call with ResourceExhausted. Default: no limit. */
  readonly maxMessageBytes?: number;
  /** Answers of more values are refused as unreadable. Default: no limit. */
  readonly maxMessageValues?: number;
}

interface MethodTypes {
  readonly path: string;
  readonly input: string;
  readonly output: string;
}

function methodTypes(tables: readonly ProtobufTable[], { service, method }: GrpcMethod): MethodTypes {
  for (const table of tables) {
    const text = service.startsWith(`${table.package}.`)
      ? table.services[service.slice(table.package.length + 1)]?.[method]
      : undefined;
    const match = text === undefined ? null : /^(?:stream )?(\S+) (?:stream )?(\S+)$/.exec(text);
    if (match === null) continue;
    const full = (type = ''): string => (type.startsWith('.') ? type.slice(1) : `${table.package}.${type}`);
    return { path: `/${service}/${method}`, input: full(match[1]), output: full(match[2]) };
  }
  throw new GrpcError('Unimplemented', `unknown method ${method} for service ${service}`);
}

/** Opens nothing yet: the connection is made by the first call and again after it breaks. */
export function createGrpcCaller({ clock }: { readonly clock: Clock }, config: GrpcCallerConfig): GrpcCaller {
  const { maxMessageBytes = Infinity } = config;
  const sessions = createSessions(config.target);
  const codec = createMessageCodec(config.tables, config.maxMessageValues);
  /** An unreadable message is the peer's fault, not the program's. Go's words. */
  const decode = async (type: string, message: Uint8Array): Promise<object> => {
    try {
      return await stepByStep(codec.decodeSteps(type, message), () => clock.yield());
    } catch (cause) {
      const why = `grpc: failed to unmarshal the received message: ${errorMessage(cause)}`;
      throw new GrpcError('Internal', why, { cause });
    }
  };
  const typesOfMethods = new Map<string, MethodTypes>();
  const typesOf = (method: GrpcMethod): MethodTypes => {
    const key = `${method.service}/${method.method}`;
    const types = typesOfMethods.get(key) ?? methodTypes(config.tables, method);
    typesOfMethods.set(key, types);
    return types;
  };
  const open = async (path: string, { signal, timeoutMs, headers }: GrpcCallOptions): Promise<Http2Stream> => {
    signal?.throwIfAborted();
    checkTarget(config.target);
    const late = Promise.withResolvers<never>();
    const stopTimer = clock.setTimer(timeoutMs || Infinity, () => late.reject(unreachable(timeoutMs)));
    const opening = sessions.request(
      'POST',
      path,
      requestHeaders(headers === undefined ? config.headers : { ...config.headers, ...headers }, timeoutMs),
      {},
    );
    try {
      const stream = await Promise.race([opening, late.promise]);
      ignoreLateErrors(stream);
      return stream;
    } catch (error) {
      opening.then((stream) => stream.close(CANCEL)).catch(() => undefined); // if it opens after all
      signal?.throwIfAborted();
      throw brokenCall(error, false);
    } finally {
      stopTimer();
    }
  };

  return {
    async unary(method, request, options) {
      const { path, input, output } = typesOf(method);
      const encoding = stepByStep(codec.encodeSteps(input, request), () => clock.yield());
      const body = frame(encoding instanceof Promise ? await encoding : encoding);
      const call = followCall(await open(path, options), { clock, ...options });
      const chunks: Uint8Array[] = [];
      let received = 0;
      call.stream
        .on('data', (chunk: Uint8Array) => {
          chunks.push(chunk);
          received += chunk.length;
          if (received > maxMessageBytes + HEADER_BYTES) call.end(tooLarge(received, maxMessageBytes));
        })
        .end(body);
      await call.done;
      const messages = createFrameReader().read(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
      if (messages.length !== 1) throw new GrpcError('Internal', `${messages.length} answers to ${path}`);
      return decode(output, messages[0]!);
    },
    async *stream(method, requests, options) {
      const { path, input, output } = typesOf(method);
      const call = followCall(await open(path, options), { clock, ...options });
      call.done.catch(() => undefined); // awaited when the answers have ended
      try {
        send(call.stream, requests, (request) => frame(codec.encode(input, request))).catch((error: unknown) => {
          call.stream.destroy(error as Error);
        });
        const reader = createFrameReader(maxMessageBytes);
        try {
          for await (const chunk of call.stream) {
            sessions.notifyResponseByteRead(call.stream);
            for (const message of reader.read(chunk as Uint8Array)) yield await decode(output, message);
          }
        } catch (error) {
          if (error instanceof GrpcError) throw error;
          await call.done; // its error is more precise than the stream's
          throw brokenCall(error);
        }
        await call.done;
        reader.end();
      } finally {
        call.stream.close(CANCEL);
      }
    },
    disconnect: () => sessions.abort(),
  };
}
