/** gRPC servers made of functions, behind names in place of sockets; messages still pass through the wire format. */
import { aborted, onAbort } from '../base/abort.ts';
import type { Clock } from '../platform/clock.ts';
import { GrpcError } from './grpc-error.ts';
import { createMessageCodec } from './message-codec.ts';
import type { ProtobufTable } from './protobuf-table.ts';
import type { GrpcConnector } from './grpc-connector.ts';
import type { SocketServer } from './socket-server.ts';

/** A method: returns its answer or throws its error. */
export type FakeMethod = (request: never, signal: AbortSignal) => object | Promise<object> | AsyncIterable<object>;

/** The servers of a simulated machine. */
export interface FakeSockets {
  readonly connect: GrpcConnector;
  /** Serves a socket in this process, for calls through `connect`. */
  readonly listen: SocketServer;
  /** Serves methods by name (`GetInfo`); replaces the former server of the socket. */
  serve(socketPath: string, methods: Readonly<Record<string, FakeMethod>>): void;
  close(socketPath: string): void;
  /** Calls so far: `GetInfo`. */
  readonly calls: string[];
}

/** No servers yet. */
export function createFakeSockets(clock: Clock): FakeSockets {
  const servers = new Map<string, Readonly<Record<string, FakeMethod>>>();
  const calls: string[] = [];
  return {
    calls,
    serve: (socketPath, methods) => void servers.set(socketPath, methods),
    close: (socketPath) => void servers.delete(socketPath),
    async listen(socketPath, _tables, methods) {
      servers.set(
        socketPath,
        Object.fromEntries(Object.entries(methods).map(([name, handler]) => [name.split('/')[1]!, handler])),
      );
      return { close: async () => void servers.delete(socketPath) };
    },
    connect: (socketPath, tables) => ({
      async unary({ service, method }, request, { signal, timeoutMs }) {
        const { input, output } = typesOf(tables, service, method);
        const codec = createMessageCodec(tables);
        const sent = codec.decode(input, codec.encode(input, request));
        const server = servers.get(socketPath);
        calls.push(method);
        if (server === undefined) throw new GrpcError('Unavailable', `connect ENOENT ${socketPath}`, { sent: false });
        const run = server[method];
        if (run === undefined) throw new GrpcError('Unimplemented', `unknown method ${method} for service ${service}`);
        const controller = new AbortController();
        const cancel = clock.setTimer(timeoutMs || Infinity, () =>
          controller.abort(new GrpcError('DeadlineExceeded', 'context deadline exceeded')),
        );
        const unhook = onAbort(signal, () => controller.abort(signal?.reason));
        try {
          const answer = await Promise.race([
            Promise.resolve(run(sent as never, controller.signal)),
            aborted(controller.signal).then(() => Promise.reject(controller.signal.reason)),
          ]);
          return codec.decode(output, codec.encode(output, answer as object));
        } finally {
          cancel();
          unhook();
        }
      },
      async *stream({ service, method }, request, { signal }) {
        const { output } = typesOf(tables, service, method);
        const codec = createMessageCodec(tables);
        calls.push(method);
        const run = servers.get(socketPath)?.[method];
        if (run === undefined) throw new GrpcError('Unavailable', `connect ENOENT ${socketPath}`, { sent: false });
        const messages = run(request as never, signal ?? new AbortController().signal) as AsyncIterable<object>;
        for await (const message of messages) yield codec.decode(output, codec.encode(output, message));
      },
      disconnect: () => undefined,
    }),
  };
}

function typesOf(
  tables: readonly ProtobufTable[],
  service: string,
  method: string,
): { readonly input: string; readonly output: string } {
  for (const table of tables) {
    const text = table.services[service.slice(table.package.length + 1)]?.[method];
    if (!service.startsWith(`${table.package}.`) || text === undefined) continue;
    const [input, output] = text
      .replace('stream ', '')
      .split(' ')
      .map((type) => `${table.package}.${type}`);
    return { input: input!, output: output! };
  }
  throw new Error(`no method ${service}/${method} in the tables`);
}
