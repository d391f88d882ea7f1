/**
 * gRPC services of this process behind a unix socket: framing, messages and statuses over the platform's transport.
 * Upstream: google.golang.org/grpc's Server, as far as unary methods and server streams go.
 */
import { errorMessage } from '../base/errors.ts';
import { type Steps, stepByStep } from '../base/steps.ts';
import type { Clock } from '../platform/clock.ts';
import type { ListenRpc, RpcCall, RpcServer } from '../platform/rpc.ts';
import { GrpcError, GRPC_CODES } from './grpc-error.ts';
import { createFrameReader, frame } from './grpc-frames.ts';
import { createMessageCodec, type MessageCodec } from './message-codec.ts';
import type { ProtobufTable } from './protobuf-table.ts';

/** Answers one method; a server stream answers with an async iterable. Throws a GrpcError, or anything else as Unknown. */
export type GrpcHandler = (request: never, signal: AbortSignal) => object | Promise<object> | AsyncIterable<object>;

/** Serves methods, named `package.Service/Method`, on a unix socket. */
export type SocketServer = (
  socketPath: string,
  tables: readonly ProtobufTable[],
  methods: Readonly<Record<string, GrpcHandler>>,
) => Promise<RpcServer>;

interface Route {
  readonly input: string;
  readonly output: string;
  readonly streams: boolean;
}

/** gRPC's own default, far above any message of the services here. */
const MAX_REQUEST_BYTES = 4 * 1024 * 1024;

const MAX_REQUEST_VALUES = 400_000;

/** Makes the server over a transport. Long requests and answers are read and written in steps. */
export function createSocketServer(listen: ListenRpc, clock: Pick<Clock, 'yield'>): SocketServer {
  return (socketPath, tables, methods) => {
    const codec = createMessageCodec(tables, MAX_REQUEST_VALUES);
    const routes = new Map(Object.keys(methods).map((name) => [`/${name}`, routeOf(tables, name)]));
    return listen(socketPath, async (call) => {
      try {
        const route = routes.get(call.path);
        const handler = methods[call.path.slice(1)];
        if (route === undefined || handler === undefined)
          throw new GrpcError('Unimplemented', `unknown method ${call.path}`);
        await answerCall({ call, codec, clock, route, handler });
        call.end({ 'grpc-status': '0' });
      } catch (error) {
        const { code, detail } = grpcErrorOf(error);
        call.end({ 'grpc-status': String(GRPC_CODES.indexOf(code)), 'grpc-message': encodeURIComponent(detail) });
      }
    });
  };
}

async function answerCall(exchange: {
  call: RpcCall;
  codec: MessageCodec;
  clock: Pick<Clock, 'yield'>;
  route: Route;
  handler: GrpcHandler;
}): Promise<void> {
  const { call, codec, clock, route } = exchange;
  const pause = (): Promise<void> => clock.yield();
  const encoded = await readRequest(call);
  const request = await stepByStep(decodeRequest(codec, route.input, encoded), pause);
  const answered = exchange.handler(request as never, call.signal);
  const send = async (message: object): Promise<void> =>
    call.write(frame(await stepByStep(codec.encodeSteps(route.output, message), pause)));
  if (!route.streams) return send((await answered) as object);
  for await (const message of answered as AsyncIterable<object>) {
    if (call.signal.aborted) return;
    await send(message);
  }
}

function* decodeRequest(codec: MessageCodec, type: string, bytes: Uint8Array): Steps<object> {
  try {
    return yield* codec.decodeSteps(type, bytes);
  } catch (error) {
    throw new GrpcError('Internal', `grpc: error unmarshalling request: ${errorMessage(error)}`);
  }
}

async function readRequest({ body }: RpcCall): Promise<Uint8Array> {
  const reader = createFrameReader(MAX_REQUEST_BYTES);
  let message: Uint8Array | undefined;
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > MAX_REQUEST_BYTES) throw new GrpcError('ResourceExhausted', 'received message larger than max');
    for (const next of reader.read(chunk)) message ??= next;
  }
  if (message === undefined) throw new GrpcError('Internal', 'a call without a message');
  return message;
}

function routeOf(tables: readonly ProtobufTable[], name: string): Route {
  const [service = '', method = ''] = name.split('/');
  for (const table of tables) {
    if (!service.startsWith(`${table.package}.`)) continue;
    const text = table.services[service.slice(table.package.length + 1)]?.[method];
    const match = /^(\S+) (stream )?(\S+)$/.exec(text ?? '');
    if (match === null) continue;
    const full = (type = ''): string => `${table.package}.${type}`;
    return { input: full(match[1]), output: full(match[3]), streams: match[2] !== undefined };
  }
  throw new Error(`no method ${name} in the tables`);
}

function grpcErrorOf(error: unknown): GrpcError {
  if (error instanceof GrpcError) return error;
  return new GrpcError('Unknown', errorMessage(error), { cause: error });
}
