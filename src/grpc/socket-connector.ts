/**
 * Calls of servers behind unix sockets that come and go, such as a node's plugins. gRPC is loaded at the first call, so
 * that a process nobody plugs anything into does without it.
 */
import type { Clock } from '../platform/clock.ts';
import type { GrpcCaller } from './grpc-caller.ts';
import type { ProtobufTable } from './protobuf-table.ts';

/** Makes a caller of the services in `tables` behind a unix socket. Nothing is opened before the first call. */
export type SocketConnector = (socketPath: string, tables: readonly ProtobufTable[]) => GrpcCaller;

/** The connector of this machine's sockets. */
export function createSocketConnector(clock: Clock): SocketConnector {
  return (socketPath, tables) => {
    let loaded: GrpcCaller | undefined;
    const load = async (): Promise<GrpcCaller> => {
      const { createGrpcCaller } = await import('./grpc-caller.ts');
      return (loaded ??= createGrpcCaller({ clock }, { target: { socketPath }, tables }));
    };
    return {
      unary: async (method, request, options) => (await load()).unary(method, request, options),
      async *stream(method, requests, options) {
        yield* (await load()).stream(method, requests, options);
      },
      disconnect: () => loaded?.disconnect(),
    };
  };
}
